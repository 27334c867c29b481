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


EXTRA = """
    def update(loss):
        opt.zero_grad()
        loss.backward()
        opt.step()
    for x in torch.randn(9, 1, 3):
        loss = net(x).pow(2).sum()
        update(loss)
        if loss.item() > 0.5:
            for _ in range(2):
                {again}
"""


@pytest.mark.parametrize(("again", "expected"), [("update(loss)", ["SP101"]), ("update(net(x).pow(2).sum())", [])])
def test_a_reading_that_came_to_a_place_in_another_way_says_nothing(
    tmp_path: Path, again: str, expected: list[str]
) -> None:
    assert [code for code, _ in found(tmp_path, EXTRA.format(again=again))] == expected


SCORE = """
    model = nn.Sequential(nn.Linear(3, 9), nn.Softplus(), nn.Linear(9, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    def matching(x):
        x = x.clone().requires_grad_()
        s = torch.autograd.grad(model(x).sum(), x, create_graph=True)[0]
        curve = torch.autograd.grad(s.sum(), x, {how})[0]
        trace = curve.sum(-1)
        return {loss}, trace.mean().item()
    for x in torch.randn(9, 4, 3):
        opt.zero_grad()
        loss, shown = matching(x)
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("how", "loss", "expected"),
    [
        ("retain_graph=True", "(trace + s.pow(2).sum(-1)).mean()", ["SP109"]),
        ("create_graph=True", "(trace + s.pow(2).sum(-1)).mean()", []),
        ("retain_graph=True", "s.pow(2).sum(-1).mean()", []),
        ("retain_graph=True", "trace.detach()", ["SP301"]),  # with a graph of its own it would have none either
    ],
)
def test_a_term_that_is_also_returned_as_a_number_is_a_term(
    tmp_path: Path, how: str, loss: str, expected: list[str]
) -> None:
    assert [code for code, _ in found(tmp_path, SCORE.format(how=how, loss=loss))] == expected


SETTINGS = """
    from types import SimpleNamespace
    import argparse
    cfg = {made}
    total = 0
    for i, x in enumerate(torch.randn(24, 1, 3)):
        total = total + net(x).pow(2).sum() / cfg.every
        if (i + 1) % cfg.every == 0:
            opt.zero_grad()
            total.backward()
            opt.step()
            {after}
"""


@pytest.mark.parametrize("made", ["SimpleNamespace(every=3)", "argparse.Namespace(**dict(every=3))"])
@pytest.mark.parametrize(("after", "expected"), [("pass", ["SP105"]), ("total = 0", [])])
def test_settings_in_a_namespace_are_known(tmp_path: Path, made: str, after: str, expected: list[str]) -> None:
    assert [code for code, _ in found(tmp_path, SETTINGS.format(made=made, after=after))] == expected


HEAP = """
    import heapq, itertools
    class Pool:
        def __init__(self, size):
            self.size, self.heap, self.count = size, [], itertools.count()
        def offer(self, rows, scores):
            for row, score in zip(rows, scores.tolist()):
                entry = (score, next(self.count), row)
                if len(self.heap) < self.size:
                    heapq.heappush(self.heap, entry)
                else:
                    heapq.heappushpop(self.heap, entry)
    pool = Pool(12)
    for x in torch.randn(30, 8, 3):
        out = torch.tanh(net(x))
        loss = out.pow(2).mean()
        if len(pool.heap) >= 4:
            hard = torch.stack([row for _, _, row in pool.heap])
            loss = loss + torch.cdist(out, hard).mean()
        pool.offer({kept}, out.detach().sum(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(("kept", "expected"), [("out", ["SP107"]), ("out.detach()", [])])
def test_what_is_pushed_onto_a_heap_is_in_it(tmp_path: Path, kept: str, expected: list[str]) -> None:
    assert [code for code, _ in found(tmp_path, HEAP.format(kept=kept))] == expected


STAGES = """
    from functools import partial
    from torch.utils.checkpoint import checkpoint
    class Stages(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Sequential(nn.Linear(3, 3), nn.Tanh()), nn.Linear(3, 1)
        def forward(self, x):
            run = partial(checkpoint, use_reentrant={reentrant})
            return self.last(run(self.first, x))
    net = Stages()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for i, x in enumerate(torch.randn(90, 4, 3)):
        loss = net({x}).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 10 == 9:
            print(loss.item())
"""


@pytest.mark.parametrize(
    ("reentrant", "x", "expected"),
    [
        (True, "x", [("SP406", 9)]),
        (False, "x", []),
        (True, "x.requires_grad_()", []),
    ],
)
def test_a_reentrant_checkpoint_of_data_records_nothing(
    tmp_path: Path, reentrant: bool, x: str, expected: list[tuple[str, int]]
) -> None:
    assert found(tmp_path, STAGES.format(reentrant=reentrant, x=x)) == expected


OWN = """
    class Grow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, rate):
            out = torch.expm1(rate * x) / rate
            {save}
            return out
        @staticmethod
        def backward(ctx, grad):
            saved = ctx.saved_tensors
            return grad * saved[-1], None
    for x in torch.randn(9, 4, 3):
        y = net(x)
        h = Grow.apply(y, 0.3)
        {change}
        loss = h.sum() + 0 * y.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("save", "change", "expected"),
    [
        ("ctx.save_for_backward(x, out)", "h += x", ["SP202"]),
        ("ctx.save_for_backward(x, out)", "h = h + x", []),
        ("ctx.save_for_backward(x)", "h += x", []),
        ("ctx.save_for_backward(x)", "y += x", ["SP202"]),
        ("ctx.save_for_backward(out)", "y += x", []),
        ("ctx.save_for_backward(out) if rate else ctx.save_for_backward(x)", "h += x", []),
    ],
)
def test_what_an_own_function_saves_is_read(tmp_path: Path, save: str, change: str, expected: list[str]) -> None:
    assert [code for code, _ in found(tmp_path, OWN.format(save=save, change=change))] == expected


TARGETS = """
    image = torch.zeros(4, 3, requires_grad=True)
    opt = torch.optim.SGD([image, *net.parameters()], lr=0.1)
    styles = torch.randn(4, 3), torch.randn(4, 3)
    targets = {{k: torch.tanh(net(style)) for k, style in zip("ab", styles)}}
    for step in range(9):
        loss = sum(F.mse_loss(image, targets[k]) for k in "ab")
        loss = loss + 0.1 * {other}
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("(net.weight - torch.eye(3)).pow(2).sum() + 0.1 * net.bias.abs().sum()", ["SP104"]),
        ("image.abs().sum()", ["SP104"]),
        ("F.mse_loss(net(styles[0]), styles[1])", ["SP107"]),
    ],
)
def test_a_penalty_on_parameters_does_not_train_what_was_computed_of_them(
    tmp_path: Path, other: str, expected: list[str]
) -> None:
    assert [code for code, _ in found(tmp_path, TARGETS.format(other=other))] == expected


@pytest.mark.parametrize(("put", "codes"), [("h", ["SP107"]), ("h.detach()", [])])
def test_what_is_far_back_in_a_long_list_is_in_that_list(tmp_path: Path, put: str, codes: list[str]) -> None:
    body = f"""
    shelf = []
    for x in torch.randn(9, 40, 3):
        loss = net(x).pow(2).mean()
        if shelf:
            loss = loss + torch.stack(shelf).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        for h in [net(row) for row in x.split([1] * 40)]:
            shelf.append({put})
    """
    assert [code for code, _ in found(tmp_path, body)] == codes
