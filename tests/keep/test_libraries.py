# SPDX-License-Identifier: BSD-3-Clause
"""Models that nobody here wrote: every bit that a program can see is as with retain_graph=True."""

import copy

import pytest
from libraries import EXAMPLES
from more_libraries import MORE
from programs import POLICIES, differences, observe, seed

import secondpass

SLOW = [pytest.mark.slow]
SHARES = [0.05, 0.3, 0.7]
"""Budgets, from the least that can be met to everything."""


def budget(example, model, share):
    """A budget between the least that can be met and all that is saved."""
    probe = secondpass.keep(copy.deepcopy(model), budget="1GB")
    seed(0)
    out = probe(**example.inputs(0))
    full = probe.plan().peak
    del out
    with pytest.raises(secondpass.BudgetError) as caught:
        seed(0)
        secondpass.keep(copy.deepcopy(model), budget=1)(**example.inputs(0))
    return int(caught.value.least + share * (full - caught.value.least))


def compare(name, options, train=False, steps=4):
    example = {**EXAMPLES, **MORE}[name]
    model = example.make()
    again = copy.deepcopy(model)
    if "share" in options:
        options = {**options, "budget": budget(example, model, options["share"])}
        options.pop("share")
    kept = secondpass.keep(again, **options)
    expected = observe(model, model, example.inputs, retain=True, steps=steps, train=train)
    assert differences(expected, observe(again, kept, example.inputs, retain=False, steps=steps, train=train)) == []
    return kept


def variants(kinds, usual):
    """Each with an optimizer that steps, and the usual ones without; the others take long to tell the same."""
    return [
        pytest.param(kind, train, id=f"{kind}{'-steps' if train else ''}", marks=[] if train or kind in usual else SLOW)
        for kind in kinds
        for train in (False, True)
    ]


@pytest.mark.parametrize(("policy", "train"), variants(POLICIES, ["recompute", "offload"]))
@pytest.mark.parametrize("name", EXAMPLES)
def test_policies(name, policy, train):
    compare(name, POLICIES[policy], train)


@pytest.mark.parametrize(("share", "train"), variants(SHARES, [0.3]))
@pytest.mark.parametrize("name", EXAMPLES)
def test_budgets(name, share, train):
    compare(name, {"share": share}, train)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:secondpass.keep")
@pytest.mark.parametrize("name", MORE)
def test_other_models(name):
    for options in (*POLICIES.values(), {"budget": "50% of full"}, {"budget": "1% of full"}):
        compare(name, options, train=True, steps=3)
