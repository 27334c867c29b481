# SPDX-License-Identifier: BSD-3-Clause
"""Gradients, buffers, outputs and random states are those of retain_graph=True, bit for bit."""

import copy

import pytest
import torch
import zoo
from harness import differences, observe

import secondpass

MODELS = zoo.models()
OPTIONS = {
    "nothing": {},
    "retain": {"policy": "retain"},
    "recompute": {"policy": "recompute"},
    "offload": {"policy": "offload"},
    "passes": {"policy": "recompute", "passes": 1},
}


def pair(name):
    zoo.seed(11)
    model = MODELS[name]()
    return model, copy.deepcopy(model)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_every_bit_is_the_same(name, options):
    plain, model = pair(name)
    expected = observe(plain, plain, passes=3, retain=True, steps=3)
    kept = secondpass.keep(model, **OPTIONS[options])
    assert differences(expected, observe(model, kept, passes=3, retain=False, steps=3)) == []


@pytest.mark.parametrize("name", MODELS)
def test_every_budget_gives_the_same_bits(name):
    plain, model = pair(name)
    expected = observe(plain, plain, passes=2, retain=True, steps=2)
    for share in (1.0, 0.7, 0.4):
        again = copy.deepcopy(model)
        kept = secondpass.keep(again, budget=budget_for(model, share))
        assert differences(expected, observe(again, kept, passes=2, retain=False, steps=2)) == []


def budget_for(model, share):
    """A budget between the least that can be met and everything."""
    probe = copy.deepcopy(model)
    x = torch.randn(4, 8)
    zoo.seed(0)
    free = secondpass.keep(probe, budget="1GB")
    out = free(x)
    everything = free.ledger().bytes
    del out
    kept = secondpass.keep(copy.deepcopy(model), budget=1)
    with pytest.raises(secondpass.BudgetError) as caught:
        zoo.seed(0)
        kept(x)
    least = caught.value.least
    assert f"({least} bytes)" in str(caught.value)
    return int(least + share * max(0, everything - least)) + 4096


@pytest.mark.parametrize("name", MODELS)
def test_eval_mode(name):
    plain, model = pair(name)
    plain.eval(), model.eval()
    expected = observe(plain, plain, passes=2, retain=True)
    kept = secondpass.keep(model, policy="recompute")
    assert differences(expected, observe(model, kept, passes=2, retain=False)) == []
