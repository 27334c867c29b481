# SPDX-License-Identifier: BSD-3-Clause
"""A call dies with its graph, whatever was given to it and whatever holds its outputs."""

import gc

import pytest
import torch
from libraries import EXAMPLES
from programs import POLICIES, live_bytes, seed
from test_side_effects import Block, Cache, Remembering, Stack

import secondpass

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
