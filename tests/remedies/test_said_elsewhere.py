# SPDX-License-Identifier: BSD-3-Clause
"""Where the source does not say it where it matters: settings of what wraps a module, what is in a list, what was frozen."""

from __future__ import annotations

import pytest

from secondpass.record import Carrier, Finding, Place, Remedy
from secondpass.remedies import candidates
from secondpass.remedies.find.project import Project

from .test_odd import repaired

LOGITS = """\
class Agent:
    def learn(self, returns):
        scores = torch.tensor(self.scores)
        loss = -(scores * returns).sum()
        loss.backward()
"""
FROZEN = """\
class Reader(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            out = self.head(self.body(x))
        return out


def main():
    reader, other = Reader(), nn.Linear(3, 4)
    parameters = chain(other.parameters(), {})
    opt = torch.optim.Adam(parameters)
    reader, opt = prepare(reader, opt)
    train(reader, opt)
"""


@pytest.mark.parametrize(
    ("head", "call"),
    [
        ("from torch.nn.parallel import DistributedDataParallel as Spread", "Spread(net"),
        ("from torch.nn.parallel import DistributedDataParallel", "DistributedDataParallel(net"),
        ("import torch", "torch.nn.parallel.DistributedDataParallel(net"),
    ],
)
def test_ddp_is_told_that_parameters_vary(head: str, call: str) -> None:
    text = f"{head}\n\nnet = {call})\nout = net(x)\n"
    got = repaired(text, "other", "unfinished-reduction", "find_unused_parameters", failed=4)
    assert got == text.replace("(net)", "(net, find_unused_parameters=True)")


def test_of_several_ddp_modules_none_is_chosen() -> None:
    text = "from torch.nn.parallel import DistributedDataParallel as DDP\n\none, two = DDP(a), DDP(b)\nout = one(x)\n"
    assert repaired(text, "other", "unfinished-reduction", "find_unused_parameters", failed=4) == text


def ways(text: str, finding: Finding) -> list[str]:
    found = candidates(finding, Project(sources={"main.py": text}))
    return [ln[1:].strip() for w in found for ln in w.diff.splitlines() if ln[:1] == "+" and ln[:3] != "+++"]


def test_what_is_made_a_tensor_may_be_a_list_of_them() -> None:
    cut = Place("main.py", 3)
    keep = Remedy("keep-history", "", target="self.scores", place=cut)
    finding = Finding("SP301", "lost-history", "error", "", Place("main.py", 5), built=cut, remedies=(keep,))
    assert {"scores = self.scores", "scores = torch.stack(self.scores)"} <= {*ways(LOGITS, finding)}


@pytest.mark.parametrize(
    ("given", "part", "meant"),
    [
        ("(p for p in reader.parameters() if p.requires_grad)", "reader", True),
        ("filter(lambda p: p.requires_grad, reader.parameters())", "reader", True),
        ("reader.head.parameters()", "reader.head", True),
        ("(p for p in third.parameters() if p.requires_grad)", "reader.head", False),
        ("list(reader.parameters())", "reader.head", False),
    ],
)
def test_who_takes_what_requires_a_gradient_means_it_to_be_trained(given: str, part: str, meant: bool) -> None:
    cut = Place("main.py", 3)
    keep = Remedy("keep-history", "", target=part, place=cut)
    facts = {"cut": "no_grad", "made": None, "optimizer": "opt", "forgotten": False}
    finding = Finding(
        "SP406", "unreached-parameter", "warning", "", cut, Carrier(part), built=cut, remedies=(keep,), facts=facts
    )
    assert ("out = self.head(self.body(x))" in ways(FROZEN.format(given), finding)) is meant
