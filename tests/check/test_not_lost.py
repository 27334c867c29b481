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


TURNS = """
    nets = [nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)) for _ in range(2)]
    opts = [torch.optim.SGD(n.parameters(), lr=0.1) for n in nets]
    {opts}
    for x in torch.randn(9, 1, 3):
        outs = [n(x) for n in nets]
        for i, opt in enumerate(opts):
            loss = {loss}
            opt.zero_grad()
            loss.backward(retain_graph=i < 1)
            opt.step()
"""


@pytest.mark.parametrize(
    ("opts", "loss", "expected"),
    [
        ("pass", "(outs[0] * outs[1]).sum()", ["SP201"]),  # one player after the other
        ("opts = [opts[0]] * 2", "(outs[0] * outs[1]).sum()", ["SP104"]),  # the same one every turn
        ("pass", "(outs[i] * outs[1 - i].detach()).sum()", ["SP402"]),
    ],
)
def test_a_loop_over_players_is_known_by_its_optimizers(
    tmp_path: Path, opts: str, loss: str, expected: list[str]
) -> None:
    assert [code for code, _ in found(tmp_path, TURNS.format(opts=opts, loss=loss))] == expected


REPLAY = """
    import random
    from collections import deque, namedtuple
    Entry = namedtuple("Entry", "x h")
    class Memory:
        def __init__(self):
            self.entries = deque(maxlen=100)
        def push(self, *args):
            self.entries.append({entry})
    memory = Memory()
    h = torch.zeros(1, 3)
    for x in torch.randn(90, 1, 3):
        new = torch.tanh(net(x) + h.detach())
        memory.push(x, {kept})
        h = new
        if len(memory.entries) < 5:
            continue
        xs, hs = zip(*random.sample(memory.entries, 5))
        loss = (net(torch.cat(xs)) + torch.cat({cat})).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("entry", "kept", "cat", "expected"),
    [
        ("Entry(*args)", "new", "hs", ["SP107"]),
        ("args", "new", "hs", ["SP107"]),
        ("args", "(new, new)", "[h[1] for h in hs]", ["SP107"]),
        ("Entry(*args)", "new.detach()", "hs", []),
        ("args", "(new.detach(), new)", "[h[0] for h in hs]", []),
    ],
)
def test_rows_of_a_sample_are_turned_into_columns(
    tmp_path: Path, entry: str, kept: str, cat: str, expected: list[str]
) -> None:
    codes = [code for code, _ in found(tmp_path, REPLAY.format(entry=entry, kept=kept, cat=cat))]
    assert codes == expected or (not expected and codes == ["SP401"] * len(codes))


POOL = """
    import random
    rng = random.Random(1)
    slots = [torch.zeros(1, 3) for _ in range(16)]
    for step in range(20):
        index = rng.sample(range(16), 4)
        grids = torch.cat([slots[i] for i in index])
        for _ in range(3):
            grids = torch.tanh(net(grids))
        loss = grids.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        for i, grid in zip(index, grids):
            slots[i] = grid[None]{cut}
        {after}
"""


@pytest.mark.parametrize(
    ("cut", "after", "expected"),
    [
        ("", "pass", ["SP107"]),
        (".detach()", "pass", []),
        ("", "slots = [s.detach() for s in slots]", []),
        ("", "for i in range(16): slots[i] = slots[i].detach()", []),
        (".clone()", "for s in slots: s.detach_()", []),
        ("", "slots[:] = [s.detach() for s in slots]", []),
    ],
)
def test_what_is_put_into_a_slot_that_cannot_be_told_is_met_again(
    tmp_path: Path, cut: str, after: str, expected: list[str]
) -> None:
    assert [code for code, _ in found(tmp_path, POOL.format(cut=cut, after=after))] == expected


BALANCE = """
    scale = torch.ones(2, requires_grad=True)
    for x in torch.randn(9, 1, 3):
        z = torch.tanh(net(x))
        terms = [scale[0] * z.pow(2).mean(), scale[1] * z.exp().mean()]
        opt.zero_grad()
        sum(terms).backward()
        {again}
        opt.step()
"""


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        ("norms = [torch.autograd.grad(t, net.weight, create_graph=True)[0].norm() for t in terms]", ["SP102"]),
        ("terms[0].backward()", ["SP101"]),
    ],
)
def test_derivatives_of_a_term_are_no_second_pass_of_the_loss(tmp_path: Path, again: str, expected: list[str]) -> None:
    assert [code for code, _ in found(tmp_path, BALANCE.format(again=again))] == expected
