# SPDX-License-Identifier: BSD-3-Clause
"""A call dies with its graph, whatever was given to it and whatever holds its outputs."""

import contextlib
import gc
from typing import NamedTuple

import pytest
import torch
from harness import same_bits
from libraries import EXAMPLES
from programs import POLICIES, live_bytes, seed
from test_side_effects import Block, Cache, Remembering, Stack
from torch import nn

import secondpass

_push = torch._C._autograd._push_saved_tensors_default_hooks
OPTIONS = {**POLICIES, "budget": {"budget": "60% of full"}}


class Holding(Block):
    """Leaves its result on the object that it is given."""

    def forward(self, x, holder):
        holder.out = super().forward(x)
        return holder.out


class Holder:
    out = None


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize(("block", "holder"), [(Holding, Holder), (Remembering, Cache)])
def test_an_object_that_keeps_an_output(options, block, holder):
    seed(0)
    model = Stack(block)
    kept = secondpass.keep(model, **options)
    live = []
    for _ in range(50):
        out = kept(torch.ones(8, 8), holder())
        out.sum().backward()
        out.mean().backward()
        del out
        live.append(live_bytes())
    assert max(live[5:]) == min(live[5:])
    assert kept.ledger().lines == ()


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_module_that_keeps_its_output(options):
    class Own(Block):
        def forward(self, x):
            self.last = super().forward(x)
            return self.last

    model = Stack(Own)
    kept = secondpass.keep(model, **options)
    live = []
    for _ in range(20):
        out = kept(torch.ones(8, 8))
        out.sum().backward()
        out.mean().backward()
        live.append(live_bytes())
    assert max(live[5:]) == min(live[5:])


class Saving(nn.Module):
    """Has hooks of its own on what is saved, some of which is the result of the node that saves it."""

    def __init__(self, hooks):
        super().__init__()
        self.blocks, self.hooks = nn.ModuleList(nn.Linear(8, 8) for _ in range(3)), hooks

    def forward(self, x):
        for block in self.blocks:
            with self.hooks():
                x = torch.tanh(block(x)).exp()
            x = torch.sigmoid(x)
        return x


class Pair(NamedTuple):
    t: torch.Tensor


class Owner:
    def __init__(self, t):
        self.t = t


HOOKS = {
    "save_on_cpu": torch.autograd.graph.save_on_cpu,
    "identity": lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "named": lambda: torch.autograd.graph.saved_tensors_hooks(Pair, lambda pair: pair.t),
    "nested": lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: {"t": [t]}, lambda d: d["t"][0]),
}


@pytest.mark.filterwarnings("ignore:secondpass.keep")
@pytest.mark.parametrize("options", [{}, *OPTIONS.values()], ids=["nothing", *OPTIONS])
@pytest.mark.parametrize("hooks", HOOKS.values(), ids=HOOKS)
@pytest.mark.parametrize("around", [False, True], ids=["inside", "around"])
def test_hooks_of_others(options, hooks, around):
    seed(0)
    model = Saving(contextlib.nullcontext if around else hooks)
    kept = secondpass.keep(model, **options)
    found, live = [], []
    for call in [model] + 4 * [kept]:
        x = torch.linspace(-1, 1, 32).reshape(4, 8).requires_grad_()
        with hooks() if around else contextlib.nullcontext():
            out = call(x)
        out.sum().backward(retain_graph=call is model)
        (gradient,) = torch.autograd.grad(out.pow(2).sum(), x, create_graph=True)
        found.append([x.grad, gradient.detach(), *torch.autograd.grad(gradient.pow(2).sum(), x)])
        del out, gradient, x
        live.append(len(storages()))
    assert all(same_bits(found[0], other) for other in found)
    assert len(kept._keeper.calls) == 0
    assert live[2] - live[1] == live[3] - live[2] == 3  # the gradients that are held here
    assert torch._C._autograd._push_saved_tensors_default_hooks is _push


@pytest.mark.parametrize("options", [{}, *OPTIONS.values()], ids=["nothing", *OPTIONS])
def test_objects_of_others_that_hold_what_is_saved(options):
    """They are not looked into, and are freed when an optimizer has made its step."""
    model = Saving(lambda: torch.autograd.graph.saved_tensors_hooks(Owner, lambda owner: owner.t))
    kept, optimizer = secondpass.keep(model, **options), torch.optim.SGD(model.parameters(), 0.1)
    live = []
    for _ in range(6):
        out = kept(torch.ones(4, 8))
        out.sum().backward()
        out.mean().backward()
        optimizer.step()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.exp().mean().backward()
        del out
        live.append(len(storages()))
    assert len(kept._keeper.calls) == 0
    assert live[2] == live[-1]


def storages():
    gc.collect()
    tensors = [thing for thing in gc.get_objects() if type(thing) is torch.Tensor]
    return {tensor.untyped_storage()._cdata for tensor in tensors}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("name", ["gpt2", "mixtral"])
def test_a_cache_of_keys(options, name):
    example = EXAMPLES[name]
    model = example.make()
    kept = secondpass.keep(model, **{**options, **({"budget": "60% of full"} if "budget" in options else {})})
    live = []
    for _ in range(10):
        out = kept(**example.inputs(0))
        out.loss.backward()
        out.logits.sum().backward()
        del out
        live.append(live_bytes())
    assert max(live[5:]) == min(live[5:])
    gc.collect()
    assert kept.ledger().lines == ()


@pytest.mark.parametrize(
    ("options", "iterations"),
    [
        pytest.param(OPTIONS["recompute"], 8, id="recompute"),
        *(pytest.param(options, 50, id=f"{name}-50", marks=pytest.mark.slow) for name, options in OPTIONS.items()),
    ],
)
@pytest.mark.parametrize("name", EXAMPLES)
def test_models_that_others_wrote(name, options, iterations):
    """Their default settings give out caches, hidden states and dictionaries."""
    example = EXAMPLES[name]
    kept = secondpass.keep(example.make(), **options)
    live = []
    for step in range(iterations):
        out = kept(**example.inputs(0))
        out.loss.backward()
        out.logits.sum().backward()
        del out
        if step in (iterations // 2, iterations - 1):
            live.append(live_bytes())
            assert len(kept._keeper.calls) == 0
    assert live[0] == live[1]
