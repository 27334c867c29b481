# SPDX-License-Identifier: BSD-3-Clause
"""What writing a forward down costs besides time: objects, which Python's garbage collector counts and walks."""

import gc

import torch
from torch import nn
from torch.nn import functional

import secondpass

OPERATIONS = 200


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, x):
        y = x * self.weight
        for _ in range(OPERATIONS // 2):
            y = (y * y).tanh()
        return y


def test_a_forward_leaves_few_objects_behind():
    """An operation, its arguments, its result, and for half of them a token of what it saved: nine each, once sixteen."""
    model, x = Chain(), torch.ones(8)
    kept = secondpass.keep(model, policy="recompute")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    for _ in range(4):
        out = kept(x)
        out.sum().backward()
        optimizer.step()
        del out
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        out = kept(x)
        found = len(gc.get_objects()) - before
    finally:
        gc.enable()
    assert 0 < found <= 10 * OPERATIONS
    del out


class Failing(nn.Module):
    """One of its functions saves tensors, and raises."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 8), nn.Linear(8, 8)
        self.attention = nn.MultiheadAttention(8, 2)

    def forward(self, x):
        y = torch.tanh(self.up(x))
        try:
            self.attention(y, y, y, attn_mask=torch.zeros(3, 5, 7))
        except RuntimeError:
            y = torch.sin(y)
        return functional.gelu(self.down(y))


def run(model, call, x, retain):
    found = []
    for _ in range(4):
        out = call(x)
        out.sum().backward(retain_graph=retain)
        out.square().sum().backward()
        found += [p.grad.clone() for p in model.parameters() if p.grad is not None]
        model.zero_grad()
        with torch.no_grad():
            for p in model.parameters():
                p.mul_(0.99)
    return found


def test_a_function_that_raises_leaves_nothing_behind():
    torch.manual_seed(0)
    model, x = Failing(), torch.randn(4, 2, 8)
    state = {key: value.clone() for key, value in model.state_dict().items()}
    expected = run(model, model, x, True)
    model.load_state_dict(state)
    got = run(model, secondpass.keep(model, policy="recompute"), x, None)
    assert len(expected) == len(got)
    assert all(map(torch.equal, expected, got))
