# SPDX-License-Identifier: BSD-3-Clause
"""Saved tensors of two values are held as bits, and nothing else is."""

import pytest
import torch
import zoo
from torch import nn
from torch.nn import functional

import secondpass
from secondpass.keeper.saved.mask import as_bits


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.37, 0.5, 1.0])
def test_dropout_comes_back(share, dtype):
    torch.manual_seed(1)
    tensor = functional.dropout(torch.ones(6, 4, 8, dtype=dtype), share).transpose(0, 2)
    found = as_bits(tensor)
    again = found.make().as_strided(tensor.shape, tensor.stride())
    assert again.dtype == dtype
    assert torch.equal(again.contiguous().view(torch.uint8), tensor.contiguous().view(torch.uint8))
    assert found.nbytes == tensor.numel() // 8


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, -0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, float("nan"), 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, float("inf"), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [-1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1e-45],
    ],
)
def test_what_would_lose_a_bit_is_not_taken(values):
    assert as_bits(torch.tensor(values)) is None
    assert as_bits(torch.tensor(values).half()) is None or 1e-45 in values  # in half precision that is zero


def test_what_cannot_be_a_mask():
    assert as_bits(torch.ones(64)) is not None
    assert as_bits(torch.ones(64, dtype=torch.int16)) is None
    assert as_bits(torch.ones(63)) is None
    assert as_bits(torch.ones(128)[:64]) is None


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_booleans_come_back(share):
    torch.manual_seed(1)
    tensor = (torch.rand(6, 4, 8) < share).transpose(0, 2)
    found = as_bits(tensor)
    again = found.make().as_strided(tensor.shape, tensor.stride())
    assert again.dtype == torch.bool and torch.equal(again, tensor)
    assert found.nbytes == tensor.numel() // 8


def test_booleans_of_other_bytes():
    found = as_bits(torch.arange(16, dtype=torch.uint8).view(torch.bool))
    assert torch.equal(found.make(), torch.arange(16) != 0)


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return x + functional.dropout(self.inner(functional.dropout(torch.sin(x), 0.3)), 0.3)


@pytest.mark.parametrize("options", [{"policy": "recompute"}, {"policy": "offload"}], ids=str)
def test_noise_is_held_as_bits(options):
    zoo.seed(1)
    model, x = zoo.Stack([Dropping() for _ in range(6)]), torch.randn(64, 8)
    kept = secondpass.keep(model, **options)
    for _ in range(3):
        zoo.seed(2)
        expected = grads(model(x), model, True)
        zoo.seed(2)
        out = kept(x)
        lines = [line for line in kept.ledger().lines if line.unit == "blocks.2"]
        assert all(torch.equal(a, b) for a, b in zip(grads(out, model, False), expected, strict=True))
        assert lines[0].held <= x.nbytes + 2 * x.nbytes // 32  # an argument, and two masks


def grads(out, model, retain):
    inputs = list(model.parameters())
    rows = [torch.autograd.grad(out[:, n].sum(), inputs, retain_graph=retain) for n in range(2)]
    return [value for row in rows for value in row]
