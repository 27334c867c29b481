# SPDX-License-Identifier: BSD-3-Clause
"""The last product of a unit is left out of a recompute only where no saved value depends on it."""

import pytest
import torch
import zoo
from torch import nn
from torch.nn import functional

import secondpass
from secondpass.keep import _shortcut


class Ending(nn.Module):
    def __init__(self, ending):
        super().__init__()
        self.up, self.down, self.ending = nn.Linear(8, 16), nn.Linear(16, 8), ending
        self.gain = nn.Parameter(torch.ones(8))

    def forward(self, x):
        return self.ending(self, x, self.down(torch.tanh(self.up(x))))


def peek(tensor):
    """Reads a value as foreign code would: no function of PyTorch is called on the tensor."""
    with torch._C.DisableTorchFunction():
        return float(tensor.detach()[0, 0])


SAFE = {
    "dropout": lambda m, x, y: x + functional.dropout(y, 0.4),
    "reshaped": lambda m, x, y: x + functional.dropout(y.reshape(2, 2, 8).transpose(0, 1), 0.4).reshape(4, 8),
}
UNSAFE = {
    "gain": lambda m, x, y: x + functional.dropout(y * m.gain, 0.4),
    "activation": lambda m, x, y: functional.dropout(torch.sigmoid(y), 0.4),
    "scale by its own size": lambda m, x, y: functional.dropout(torch.sin(x) * y.detach().std(), 0.4) + y,
    "branch": lambda m, x, y: functional.dropout(torch.sin(x) * (2.0 if float(y.detach().sum()) > 0 else 3.0) + y, 0.4),
    "in place": lambda m, x, y: functional.dropout(torch.sin(y.add_(x)), 0.4),
    "behind PyTorch's back": lambda m, x, y: functional.dropout(torch.sin(x * peek(y)) + y, 0.4),
    "numpy": lambda m, x, y: functional.dropout(torch.sin(x) * float(y.detach().numpy().max()) + y, 0.4),
}


@pytest.mark.parametrize("name", [*SAFE, *UNSAFE])
def test_gradients_are_the_same(name, monkeypatch):
    left_out = []
    original = _shortcut.Shorten._left_out

    def counted(self, *args):
        left_out.append(1)
        return original(self, *args)

    monkeypatch.setattr(_shortcut.Shorten, "_left_out", counted)
    zoo.seed(1)
    model = zoo.Stack([Ending({**SAFE, **UNSAFE}[name]) for _ in range(3)])
    parameters = list(model.parameters())
    kept = secondpass.keep(model, policy="recompute", units=Ending)
    x = torch.randn(4, 8)
    for _ in range(2):
        zoo.seed(5)
        expected = model(x)
        zoo.seed(5)
        out = kept(x)
        for number in range(3):
            one = torch.autograd.grad(expected[:, number].sum(), parameters, retain_graph=True, allow_unused=True)
            two = torch.autograd.grad(out[:, number].sum(), parameters, allow_unused=True)
            for a, b in zip(one, two, strict=True):
                assert (a is None and b is None) or torch.equal(a, b)
    if name in SAFE:
        assert len(left_out) > 10
    else:
        assert len(left_out) <= 3  # once for each unit, to find out
