# SPDX-License-Identifier: BSD-3-Clause
"""Under autocast functions save what they have cast: it is computed again with its unit, once, and never mistaken."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import secondpass


@pytest.fixture(autouse=True)
def plain_kernels():
    """Not every CPU has the other kernels' instructions for bfloat16."""
    with torch.backends.mkldnn.flags(enabled=False):
        yield


class Block(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out, self.up, self.down = nn.Linear(width, width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (
            layer(y).float().view(*x.shape[:2], self.heads, -1).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        y = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        x = x + self.out(y)
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


def network(depth=4):
    torch.manual_seed(0)
    return nn.Sequential(*(Block() for _ in range(depth)))


def run(model, call, x, retain, steps=3):
    found = []
    for _ in range(steps):
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            out = call(x)
        for number in range(2):
            out[..., number].float().pow(2).mean().backward(retain_graph=retain)
            found += [p.grad.clone() for p in model.parameters()]
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
    return found


OPTIONS = [{"policy": "recompute"}, {"policy": "offload"}, {"budget": "60% of full"}, {"budget": "45% of full"}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("zero", [False, True], ids=["random weights", "weights of zero"])
@pytest.mark.parametrize("tokens", [7, 16], ids=["sizes differ", "sizes are equal"])
def test_every_bit_is_the_same(options, zero, tokens):
    """Also where all casts are equal in the first step, and where an argument is as large as the weight."""
    model = network()
    if zero:
        for block in model:
            for layer in (block.query, block.key, block.value):
                nn.init.zeros_(layer.weight)
    state = {key: value.clone() for key, value in model.state_dict().items()}
    x = torch.randn(1, tokens, 16)
    expected = run(model, model, x, True)
    model.load_state_dict(state)
    got = run(model, secondpass.keep(model, units=Block, **options), x, None)
    assert all(map(torch.equal, got, expected))


def test_a_unit_is_held_by_its_input_alone():
    model = network()
    kept = secondpass.keep(model, units=Block, policy="recompute")
    x = torch.randn(2, 32, 16)
    run(model, kept, x, None, steps=2)
    with torch.autocast("cpu", torch.bfloat16):
        out = kept(x)
    for line in kept.ledger().lines[1:3]:  # the last one waits for the first pass
        assert line.held <= 1.5 * x.nbytes, str(kept.ledger())
    out.sum().backward()


def test_a_unit_is_run_again_once_in_a_pass():
    model = network()
    kept = secondpass.keep(model, units=Block, policy="recompute")
    x = torch.randn(2, 32, 16)
    run(model, kept, x, None, steps=3)
    operations = len(kept.plan().log)
    casts = 7 * len(model)  # each layer's input or weight, where its result is not needed
    assert all(line.recomputed <= operations + casts for line in kept.ledger().passes)
