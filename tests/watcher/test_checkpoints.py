"""A reentrant checkpoint none of whose inputs requires a gradient records nothing: seen where it runs, however it is called."""

from __future__ import annotations

import pytest

from ..running import forked

torch = pytest.importorskip("torch")

from torch.utils import checkpoint as home  # noqa: E402

from secondpass.watcher.watcher import Watcher  # noqa: E402

PROGRAM = """
from functools import partial

import torch
from torch import nn
from torch.utils import checkpoint as saving

torch.manual_seed(0)


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        self.run = partial(saving.checkpoint, use_reentrant=True)

    def both(self, x):
        return self.second(self.first(x).tanh())

    def forward(self, x):
        {setup}
        x = {call}
        return self.last(x)


net = Stack()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    x = torch.randn(6, 4)
    with torch.no_grad():
        saving.checkpoint(net.both, x, use_reentrant=True)
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LOST = [
    "self.run(self.both, x)",
    "self.run(partial(self.both), x)",
    "self.second(self.run(self.first, x))",
    "self.second(self.run(self.first.__call__, x))",
    "self.second(self.run(self.first.forward, x))",
    "self.run(lambda y: self.second(self.first(y)), x)",
    "saving.checkpoint_sequential([self.first, self.second, nn.Tanh()], 3, x, use_reentrant=True)",
]


def program(tmp_path, call, setup="pass"):
    text = PROGRAM.replace("{call}", call).replace("{setup}", setup)
    (tmp_path / "train.py").write_text(text.lstrip(), encoding="utf-8")
    return forked(tmp_path, "train.py", watched=True)


@pytest.mark.parametrize("call", LOST)
def test_what_it_runs_is_not_trained(tmp_path, call):
    [found] = program(tmp_path, call).findings
    assert (found["cause"], found["built"]["line"]) == ("unreached-parameter", 21)
    assert found["carrier"]["name"].startswith("net.")
    assert "reentrant checkpoint" in found["message"]


@pytest.mark.parametrize(
    ("call", "setup"),
    [
        ("self.run(self.both, x)", "x = x.requires_grad_()"),
        ("self.run(self.both, x * self.last.weight)", "pass"),
        ("saving.checkpoint(self.both, x, use_reentrant=False)", "pass"),
        ("self.run(self.both, x) + self.both(x)", "pass"),  # trained all the same
        ("self.second(self.run(self.first, x))", "self.first.requires_grad_(False)"),
    ],
)
def test_nothing_is_said_of_others(tmp_path, call, setup):
    assert program(tmp_path, call, setup).findings == []


def test_a_loss_that_comes_out_of_one(tmp_path):
    text = PROGRAM.replace("{setup}", "return self.run(self.all, x)").replace("{call}", "x")
    text = text.replace("    def both", "    def all(self, x):\n        return self.last(self.both(x))\n\n    def both")
    (tmp_path / "train.py").write_text(text.lstrip(), encoding="utf-8")
    [found] = forked(tmp_path, "train.py", watched=True).findings
    assert (found["cause"], found["built"]["line"]) == ("lost-history", 23)
    assert "reentrant checkpoint" in found["message"]
    assert [e["new"].strip() for e in found["remedies"][0]["edits"]][:1] == [
        "self.run = partial(saving.checkpoint, use_reentrant=False)"
    ]


@pytest.mark.parametrize("cut", ["loss.detach()", "loss.data"])
def test_a_loss_that_is_cut_elsewhere(tmp_path, cut):
    text = PROGRAM.replace("{setup}", "pass").replace("{call}", "self.run(self.both, x)")
    text = text.replace("    optimizer.zero_grad()", f"    loss = {cut}")
    (tmp_path / "train.py").write_text(text.lstrip(), encoding="utf-8")
    [found] = forked(tmp_path, "train.py", watched=True).findings
    assert (found["cause"], found["built"]["line"]) == ("lost-history", 32)


def test_nothing_is_left():
    for _ in range(2):
        outer, inner = Watcher(), Watcher()
        outer.start()
        inner.start()
        inner.stop()
        outer.stop()
        assert "apply" not in vars(home.CheckpointFunction)
