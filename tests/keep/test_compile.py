# SPDX-License-Identifier: BSD-3-Clause
"""Compiled regions inside and around."""

import pytest
import torch
import zoo
from harness import same_bits

import secondpass


def network():
    zoo.seed(3)
    return zoo.stack(zoo.Plain, 2)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("policy", ["retain", "recompute", "offload"])
@pytest.mark.parametrize(
    "where", ["inside", *(pytest.param(w, marks=pytest.mark.slow) for w in ("in place", "around"))]
)
def test_compiled(policy, where):
    """`aot_eager` has everything of the compiler that matters here, donated buffers too, and needs no C compiler."""
    model, x = network(), torch.randn(4, 8)
    kept = secondpass.keep(model, policy=policy, units=zoo.Plain)
    call = kept
    if where == "inside":
        for number, block in enumerate(model.blocks):
            model.blocks[number] = torch.compile(block, backend="aot_eager")
        call = secondpass.keep(model, policy=policy, units=list(model.blocks))
    elif where == "in place":
        for block in model.blocks:
            block.compile(backend="aot_eager")
    else:
        call = torch.compile(kept, backend="aot_eager")
    parameters = list(model.parameters())
    plain = torch.compile(model, backend="aot_eager")(x) if where == "around" else model(x)
    expected = [torch.autograd.grad(plain[:, n].sum(), parameters, retain_graph=True) for n in range(3)]
    del plain
    for _ in range(2):
        out = call(x)
        for n in range(3):
            # Under the compiler it is the plain model: there retain_graph is needed as ever.
            got = torch.autograd.grad(out[:, n].sum(), parameters, retain_graph=where == "around" or None)
            assert all(torch.equal(a, b) for a, b in zip(got, expected[n], strict=True))
        del out


class Mixed(torch.nn.Module):
    """Compiled parts, with a function that the compiler leaves alone, between parts that are not."""

    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(zoo.Plain() for _ in range(2))
        self.part = torch.compile(zoo.Plain(), backend="aot_eager")
        left_alone = torch.compiler.disable(lambda x: torch.tanh(x) * x.exp())
        self.function = torch.compile(lambda x: torch.sin(left_alone(torch.cos(x))), backend="aot_eager")

    def forward(self, x):
        for block in self.blocks:
            x = torch.sigmoid(self.function(self.part(block(x)))) * x
        return x


@pytest.mark.filterwarnings("ignore:secondpass.keep")
@pytest.mark.parametrize(
    "options",
    [
        {"policy": "recompute"},
        *(pytest.param(o, marks=pytest.mark.slow) for o in ({}, {"policy": "offload"}, {"budget": "60% of full"})),
    ],
)
def test_what_is_compiled_first_in_a_kept_forward(options):
    zoo.seed(3)
    model, x = Mixed(), torch.randn(4, 8)
    parameters = list(model.parameters())
    kept = secondpass.keep(model, **options)
    found = []
    for _ in range(3):
        out = kept(x)
        found.append([torch.autograd.grad(loss, parameters) for loss in (out.sum(), out.pow(2).sum())])
        del out
    out = model(x)
    expected = [torch.autograd.grad(loss, parameters, retain_graph=True) for loss in (out.sum(), out.pow(2).sum())]
    assert all(same_bits(expected, each) for each in found)
    assert torch.overrides._get_current_function_mode_stack() == []


@pytest.mark.filterwarnings("ignore:secondpass.keep")
def test_units_inside_of_a_compiled_region():
    model = network()
    x, parameters = torch.randn(4, 8), list(model.parameters())
    expected = torch.autograd.grad(model(x).exp().sum(), parameters)
    model.blocks[0].compile(backend="aot_eager")
    kept = secondpass.keep(model, policy="recompute", units=torch.nn.Linear)
    for _ in range(2):
        out = kept(x)
        for _ in range(2):
            got = torch.autograd.grad(out.exp().sum(), parameters)
            assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))
