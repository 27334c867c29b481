# SPDX-License-Identifier: BSD-3-Clause
"""Buffers of two values are held as bits, and nothing else is."""

import pytest
import torch
import zoo
from torch import nn
from torch.nn import functional

import secondpass
from secondpass.keep._noise import Mask, Noise, noise


def taken(tensor):
    found = Noise(tensor.numel() * tensor.element_size())
    return found if found.take(tensor) else None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.37, 0.5, 1.0])
def test_dropout_comes_back(share, dtype):
    torch.manual_seed(1)
    tensor = functional.dropout(torch.ones(6, 4, 8, dtype=dtype), share).transpose(0, 2)
    found = taken(tensor)
    again = found.make([]).as_strided(tensor.shape, tensor.stride())
    assert again.dtype == dtype
    assert torch.equal(again.contiguous().view(torch.uint8), tensor.contiguous().view(torch.uint8))
    assert found.rest == tensor.numel() // 8
    found.clear()
    assert not found.ready


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
    assert taken(torch.tensor(values)) is None


def test_what_cannot_be_noise():
    assert noise(torch.ones(64), 256) is not None
    assert noise(torch.ones(64, requires_grad=True), 256) is None
    assert noise(torch.ones(64, dtype=torch.float16), 128) is None
    assert noise(torch.ones(63), 252) is None
    assert noise(torch.ones(128)[:64], 512) is None


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_mask_comes_back(share):
    torch.manual_seed(1)
    tensor = (torch.rand(6, 4, 8) < share).transpose(0, 2)
    found = noise(tensor, tensor.numel(), masks=True)
    assert isinstance(found, Mask)
    assert noise(tensor, tensor.numel()) is None
    assert found.take(tensor)
    again = found.make([]).as_strided(tensor.shape, tensor.stride())
    assert again.dtype == torch.bool
    assert torch.equal(again, tensor)
    assert found.rest == tensor.numel() // 8


def test_a_mask_of_other_bytes():
    tensor = torch.arange(16, dtype=torch.uint8).view(torch.bool)
    found = Mask(16)
    found.take(tensor)
    assert torch.equal(found.make([]), torch.arange(16) != 0)


class Masking(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        h = self.inner(torch.sin(x))
        return x + torch.where(h > 0.1, h, torch.exp(h))


@pytest.mark.parametrize("share", [None, 1.0, 1.2, 3.0])
def test_masks_need_not_travel(share):
    zoo.seed(1)
    model = zoo.Stack([Masking() for _ in range(4)])
    x = torch.randn(64, 8)
    expected = grads(model(x), model, True)
    with pytest.raises(secondpass.keep.BudgetError) as caught:
        secondpass.keep(model, budget=1, policy="offload")(x)
    budget = None if share is None else int(caught.value.least * share)
    kept = secondpass.keep(model, budget=budget, policy="offload")
    for _ in range(3):
        out = kept(x)
        frame = max(kept._keeper.frames, key=lambda frame: frame.start)
        if share in (None, 1.0):  # otherwise everything fits
            assert {run.bits for run in frame.live()} == {x.numel() // 8}
        assert budget is None or kept.ledger().held <= budget
        assert all(torch.equal(a, b) for a, b in zip(grads(out, model, False), expected, strict=True))


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return x + functional.dropout(self.inner(functional.dropout(torch.sin(x), 0.3)), 0.3)


def test_a_plan_counts_bits():
    """Of sine's input (an argument), noise, the product's input and noise again, the middle one is held as it is."""
    zoo.seed(1)
    model = zoo.Stack([Dropping() for _ in range(6)])
    x = torch.randn(64, 8)
    probe = secondpass.keep(model, policy="retain")
    out = probe(x)
    everything = probe.ledger().bytes
    del out
    kept = secondpass.keep(model, budget=int(everything * 0.8))
    for _ in range(3):
        zoo.seed(2)
        expected = grads(model(x), model, True)
        zoo.seed(2)
        out = kept(x)
        held = [line for line in kept.ledger().lines if line.unit and line.state == "held"]
        assert kept.ledger().held <= kept._keeper.budget
        assert all(torch.equal(a, b) for a, b in zip(grads(out, model, False), expected, strict=True))
    one = x.numel() * 4
    assert held
    assert {line.held for line in held} == {one + 2 * one // 32}


def grads(out, model, retain):
    inputs = list(model.parameters())
    rows = [torch.autograd.grad(out[:, n].sum(), inputs, retain_graph=retain) for n in range(2)]
    return [value for row in rows for value in row]
