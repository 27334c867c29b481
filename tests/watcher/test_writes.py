# SPDX-License-Identifier: BSD-3-Clause
"""Who changed what a node had saved: a write of the statement that saved it stands at that statement's end."""

from __future__ import annotations

import pytest

from ..running import forked

pytest.importorskip("torch")

PROGRAM = """
import torch
from torch import nn

torch.manual_seed(0)
norm, mix = nn.LayerNorm(4), nn.Linear(4, 4)


def block(x):
    {write}
    return mix(x).tanh()


block(mix(torch.randn(3, 4))).sum().backward()
"""


@pytest.mark.parametrize("write", ["x += mix(norm(x))", "x -= norm(x)", "x *= 1 + norm(x)", "x.add_(norm(x))"])
def test_the_statement_that_saved_is_the_one_that_wrote(tmp_path, write):
    (tmp_path / "train.py").write_text(PROGRAM.replace("{write}", write).lstrip(), encoding="utf-8")
    [found] = forked(tmp_path, "train.py", watched=True).findings
    assert (found["cause"], found["carrier"]["name"], found["freed"]["line"]) == ("inplace-change", "x", 9)


SIMULATION = """
import torch


class Ball:
    def __init__(self):
        self.height = torch.ones(3)

    def gain(self):
        return self.height.pow(2).sum()

    def move(self, push):
        self.height += push


def play(ball, layer):
    total, share = 0.0, 1.0
    for _ in range(4):
        ball.move(layer(ball.height))
        total = total + share * ball.gain()
        share *= 0.9
    return total


play({made}, torch.nn.Linear(3, 3)).backward()
"""


@pytest.mark.parametrize("made", ["Ball()", "(kept := Ball())"])
def test_a_factor_that_is_a_number_has_changed_no_tensor(tmp_path, made):
    (tmp_path / "train.py").write_text(SIMULATION.replace("{made}", made).lstrip(), encoding="utf-8")
    [found] = forked(tmp_path, "train.py", watched=True).findings
    assert (found["cause"], found["carrier"]["name"], found["freed"]["line"]) == ("inplace-change", "self.height", 12)


FUNCTION = """
import torch


class Bend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(x, {saved})
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        return gradient * y


weight = torch.ones(3, requires_grad=True)
inner = weight * 2
bent = Bend.apply(inner)
other = torch.ones(3)
other += 1
{write}
(bent + inner).sum().backward()
"""


@pytest.mark.parametrize(
    ("saved", "write", "name"),
    [("y", "bent += weight", "bent"), ("y", "bent.mul_(weight)", "bent"), ("x", "inner += 1", "inner")],
)
def test_what_a_function_of_ones_own_had_saved(tmp_path, saved, write, name):
    program = FUNCTION.replace("{saved}", saved).replace("{write}", write)
    (tmp_path / "train.py").write_text(program.lstrip(), encoding="utf-8")
    [found] = forked(tmp_path, "train.py", watched=True).findings
    assert (found["cause"], found["carrier"]["name"]) == ("inplace-change", name)
    assert (found["built"]["line"], found["freed"]["line"]) == (19, 22)
