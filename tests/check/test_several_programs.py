# SPDX-License-Identifier: BSD-3-Clause
"""Code that several programs of a project run: what is never needed, or never reached, must be so in all of them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from secondpass.check import Settings, read

LEARNER = """
    import torch

    class Learner:
        def __init__(self, net, scale):
            self.net, self.scale = net, scale
            self.main = torch.optim.SGD(net.parameters(), lr=0.1)
            self.rates = torch.optim.SGD([scale], lr=0.1)

        def update(self, loss):
            self.main.zero_grad()
            self.rates.zero_grad()
            loss.backward({kept})
            self.main.step()
            self.rates.step()
"""
PROGRAM = """
    import torch
    from learner import Learner
    net, scale = torch.nn.Linear(4, 1), torch.ones(1, requires_grad=True)
    learner = Learner(net, scale)
    for _ in range(5):
        y = net(torch.randn(8, 4))
        learner.update({loss})
        {after}
"""
LOSSES = {
    "plain": ("y.pow(2).mean()", ""),
    "scaled": ("y.pow(2).mean() * scale", ""),
    "twice": ("y.pow(2).mean() * scale", "y.sum().backward()"),
}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)

    def of(kept: str, *names: str, **settings: object) -> set[str]:
        (tmp_path / "learner.py").write_text(dedent(LEARNER.format(kept=kept)))
        for number, (loss, after) in enumerate(LOSSES[name] for name in names):
            (tmp_path / f"program_{number}.py").write_text(dedent(PROGRAM).format(loss=loss, after=after))
        return {f.code for f in read(["."], Settings(jobs=1, **settings)).findings}  # type: ignore[arg-type]

    return of


@pytest.mark.parametrize(
    ("programs", "codes"),
    [
        (["plain"], {"SP406"}),
        (["plain", "plain"], {"SP406"}),
        (["plain", "scaled"], set()),
        (["scaled", "plain"], set()),
    ],
)
def test_parameters_that_another_program_trains(told, programs: list[str], codes: set[str]) -> None:  # type: ignore[no-untyped-def]
    assert told("", *programs) == codes


@pytest.mark.parametrize(
    ("programs", "codes"),
    [(["scaled", "scaled"], {"SP402"}), (["scaled", "twice"], set()), (["twice", "scaled"], set())],
)
def test_a_graph_that_another_program_walks_again(told, programs: list[str], codes: set[str]) -> None:  # type: ignore[no-untyped-def]
    assert told("retain_graph=True", *programs) == codes


def test_what_other_programs_showed_is_kept(told) -> None:  # type: ignore[no-untyped-def]
    assert told("retain_graph=True", "scaled", "twice", cache=".kept") == set()
    assert told("retain_graph=True", "scaled", "twice", cache=".kept") == set()


SLOPES = """
    import torch

    def slope(loss, params, keep=True):
        if loss is None or not loss.requires_grad:
            return None
        return torch.autograd.grad(loss, params, retain_graph=keep, allow_unused=True)

    class Watched:
        def __init__(self, model):
            self.model = model

        def once(self, x):
            said, other = self.model(x)
            return slope(said.mean(), list(self.model.parameters()))
{other}
"""

EACH = """
        def each(self, x):
            said = self.model.say(x)
            first, second = said.mean(), said.std()
            for part in (self.model.a, self.model.b):
                params = list(part.parameters())
                print(slope(first, params), slope(second, params))
"""


@pytest.mark.parametrize(("other", "codes"), [("", ["SP402"]), (EACH, [])])
def test_a_graph_that_another_caller_may_walk_again(tmp_path: Path, other: str, codes: list[str]) -> None:
    (tmp_path / "watched.py").write_text(dedent(SLOPES.format(other=other)), "utf-8")
    assert [f.code for f in read([tmp_path], Settings(jobs=1)).findings] == codes
