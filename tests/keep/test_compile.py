# SPDX-License-Identifier: BSD-3-Clause
"""Compiled regions inside and around."""

import pytest
import torch
import zoo

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
