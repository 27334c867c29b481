# SPDX-License-Identifier: BSD-3-Clause
"""What a reading must not lose on its way: elements, calls, states."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from secondpass.check import Settings, read

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""


def found(tmp_path: Path, body: str, head: str = HEAD) -> list[tuple[str, int]]:
    """Codes and lines; lines are those of the body."""
    (tmp_path / "main.py").write_text(head + textwrap.dedent(body).lstrip("\n"))
    before = head.count("\n")
    return [
        (f.code, f.failed.line - before) for f in read([tmp_path / "main.py"], Settings(jobs=1)).findings if f.failed
    ]


WINDOW = """
    {data}
    states = [torch.zeros(1, 3)]
    for j, (x, y) in enumerate(pairs):
        state = states[-1].detach()
        new = torch.tanh(net(x) + state)
        states.append(new)
        while len(states) > 5:
            del states[0]
        if (j + 1) % 2 == 0:
            opt.zero_grad()
            F.mse_loss(new, y).backward(retain_graph=True)
            for old in states[1:]:
                old.sum().backward(retain_graph=True)
"""


@pytest.mark.parametrize(
    "data",
    [
        "xs = [torch.rand(1, 3) for _ in range(40)]\npairs = [(xs[t + 2], xs[t]) for t in range(38)]",
        "class Pair:\n    def __init__(self):\n        self.x, self.y = torch.rand(2, 1, 3)\n"
        "    def __iter__(self):\n        return iter((self.x, self.y))\n"
        "pairs = [Pair() for _ in range(40)]",
    ],
)
def test_what_turns_that_were_not_looked_at_may_walk_again_is_kept(tmp_path: Path, data: str) -> None:
    assert not found(tmp_path, textwrap.dedent(WINDOW).replace("{data}", data))
