# SPDX-License-Identifier: BSD-3-Clause
"""What happens late in a loop is found without reading all its turns, and what comes back in between is not forgotten."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from secondpass.check import Settings, read
from secondpass.check.interpreter.skipped_turns import Counter, Moving

LOOP = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = TensorDataset(torch.randn(300, 3))


class Trainer:
    def __init__(self):
        self.count, self.every = 0, 60

    def due(self, step):
        return step > 0 and step % self.every == 0

    def probe(self, step, loss):
        if not self.due(step):
            return
        loss.backward()

    def tick(self, loss):
        self.count += 1
        if self.count > 90:
            loss.backward()


trainer = Trainer()
seen = 0
{loop}
    out = torch.tanh(net(torch.randn(1, 3)))
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    {late}
"""


def codes(tmp_path: Path, loop: str, late: str) -> list[str]:
    file = tmp_path / "main.py"
    file.write_text(LOOP.format(loop=loop, late=textwrap.indent(textwrap.dedent(late), "    ").strip()))
    compile(file.read_text(), "main.py", "exec")
    return [f.code for f in read([file], Settings(jobs=1)).findings]


@pytest.mark.parametrize("loop", ["for step in range(300):", "for step, (x,) in enumerate(DataLoader(data)):"])
@pytest.mark.parametrize(
    "late",
    [
        "if step == 200: loss.backward()",
        "if step > 200: loss.backward()",
        "if 200 <= step: loss.backward()",
        "if step % 70 == 69: loss.backward()",
        "if step and not step % 70: loss.backward()",
        "if step > 5 and (step + 1) % 70 == 0: loss.backward()",
        "weight = max(0.0, min(1.0, (step - 100) / 100))\nif weight > 0: (weight * loss).backward()",
        "late = step > 200\nif late: loss.backward()",
        "trainer.probe(step, loss)",
        "trainer.tick(loss)",
    ],
)
def test_a_late_second_pass_is_found(tmp_path: Path, loop: str, late: str) -> None:
    if "enumerate" in loop and "weight" in late:
        pytest.skip("how long a loader is cannot be told, so there is no last turn")
    assert codes(tmp_path, loop, late) == ["SP101"]


def test_a_counter_of_a_while_loop_is_moved_on(tmp_path: Path) -> None:
    late = "seen += 1\nif seen == 100: loss.backward()"
    assert codes(tmp_path, "while seen < 300:", late) == ["SP101"]
    assert codes(tmp_path, "while seen < 90:", late) == []


@pytest.mark.parametrize(
    "late",
    [
        "if step == 400: loss.backward()",  # the loop ends before
        "if step == 200: net(torch.randn(1, 3)).sum().backward()",
        "if step % 100 == 99: print(loss.item())",
    ],
)
def test_what_never_goes_wrong_is_not_told(tmp_path: Path, late: str) -> None:
    assert codes(tmp_path, "for step in range(300):", late) == []


def test_what_is_renewed_at_regular_intervals_is_renewed_before_it_is_used(tmp_path: Path) -> None:
    late = """
    if step % 25 == 0:
        features = torch.tanh(net(torch.ones(1, 3)))
    if step % 50 == 10:
        features.sum().backward()
    """
    assert codes(tmp_path, "for step in range(111):", late) == []
    assert codes(tmp_path, "for step in range(111):", late.replace("% 50 == 10", "% 20 == 10")) == []
    assert codes(tmp_path, "for step in range(111):", late.replace("% 50 == 10", "% 20 > 17")) == ["SP101"]


def test_a_list_that_is_emptied_late_is_no_leak(tmp_path: Path) -> None:
    late = "kept = [] if step == 0 else kept\nkept.append(loss)\nif step % 100 == 99: kept.clear()"
    assert codes(tmp_path, "for step in range(300):", late) == []


UNROLLED = """
import torch
from torch import nn

nets = nn.ModuleList(nn.Linear(3, 3) for _ in range({depth}))
opt = torch.optim.SGD(nets.parameters(), lr=0.1)


def judged(x):
    for net in nets:
        x = net(x).tanh() + x
    return x.pow(2).mean()


def fit(unroll):
    total = None
    for step in range(1, 101):
        loss = judged(torch.randn(4, 3))
        total = loss if total is None else total
        if total is not loss:
            total += loss
        opt.zero_grad()
        loss.backward({keep})
        if step % unroll == 0:
            {then}


{calls}
"""


def unrolled(tmp_path: Path, calls: str, then: str, depth: int = 60, keep: str = "retain_graph=True") -> list[str]:
    file = tmp_path / "main.py"
    file.write_text(UNROLLED.format(calls=calls, then=then.replace("; ", "\n            "), depth=depth, keep=keep))
    return [f.code for f in read([file], Settings(jobs=1)).findings]


@pytest.mark.parametrize("depth", [3, 60])
@pytest.mark.parametrize("calls", ["fit(20)", "fit(20); fit(1)", "fit(1); fit(20)"])
def test_what_a_branch_did_in_one_call_says_nothing_of_another(tmp_path: Path, calls: str, depth: int) -> None:
    # Where turns are costly the twentieth is not looked at, in which the sum is walked and begun anew.
    assert unrolled(tmp_path, calls, "total.backward(); opt.step(); total = None", depth) == []


@pytest.mark.parametrize("calls", ["fit(20)", "fit(20); fit(1)", "fit(1); fit(20)"])
def test_a_sum_that_no_branch_begins_anew(tmp_path: Path, calls: str) -> None:
    assert unrolled(tmp_path, calls, "opt.step(); print(total)", keep="") == ["SP401"]


@pytest.mark.parametrize(
    ("op", "numbers", "modulus", "change"),
    [
        (ast.Gt(), [(1, 9), (2, 9)], 0, 8),
        (ast.GtE(), [(1, 9), (2, 9)], 0, 7),
        (ast.Eq(), [(1, 9), (3, 9)], 0, 3),
        (ast.Eq(), [(2, 9), (4, 9)], 0, None),
        (ast.Lt(), [(7, 1), (9, 1)], 0, None),
        (ast.LtE(), [(9, 1), (7, 2)], 0, 2),
        (ast.Eq(), [(1, 0), (2, 0)], 10, 8),
        (ast.Eq(), [(1, 0), (1, 0)], 10, None),
        (ast.Gt(), [(0.5, float("inf")), (0.6, float("inf"))], 0, None),
        (ast.In(), [(1, 9), (2, 9)], 0, None),
    ],
)
def test_when_a_comparison_changes(
    op: ast.cmpop, numbers: list[tuple[float, float]], modulus: int, change: int
) -> None:
    moving = Moving(op)
    for turn, (left, right) in enumerate(numbers, 1):
        moving.note(turn, left, right, modulus)
    assert moving.change() == change


def test_a_counter_leaves_out_numbers() -> None:
    counter = Counter(range(10, 20))
    assert next(counter) == 10
    counter.skip(5)
    assert next(counter) == 16
    assert counter.left() == 3
    assert list(counter) == [17, 18, 19]


def test_what_is_silent_is_not_judged_by_late_turns(tmp_path: Path) -> None:
    late = "if step == 200:\n    net(torch.randn(1, 3)).sum().backward(retain_graph=True)\n    opt.step()"
    assert codes(tmp_path, "for step in range(300):", late) == []


def test_numbers_beyond_measure_are_left_alone(tmp_path: Path) -> None:
    late = """
    if step * 10 ** 400 > 10 ** 402: opt.zero_grad()
    if step % -7 == 3 or step % 0.5 == 0.25 or float("nan") > step or step > float("inf"): opt.zero_grad()
    if step == 10 ** 30: loss.backward()
    """
    assert codes(tmp_path, "for step in range(10 ** 20):", late) == []
    assert codes(tmp_path, "for step in range(5, 10, 0):", late) == []
