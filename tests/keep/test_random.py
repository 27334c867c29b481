# SPDX-License-Identifier: BSD-3-Clause
"""Random models, policies, budgets and numbers of passes: no gradient differs in a bit."""

import copy

import pytest
import torch
import zoo
from harness import differences, observe

import secondpass

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as some  # noqa: E402

BLOCKS = some.lists(some.sampled_from(zoo.BLOCKS), min_size=1, max_size=5)
POLICY = some.sampled_from(["auto", "retain", "recompute", "offload"])


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True, database=None)
@hypothesis.given(
    BLOCKS, POLICY, some.floats(0.05, 1.2), some.integers(1, 4), some.integers(1, 3), some.integers(0, 99)
)
def test_nothing_differs(blocks, policy, share, passes, steps, number):
    zoo.seed(number)
    plain = zoo.Stack([kind() for kind in blocks])
    model, third = copy.deepcopy(plain), copy.deepcopy(plain)
    expected = observe(plain, plain, passes, retain=True, steps=steps)
    budget = None
    if policy in ("auto", "offload"):
        probe = secondpass.keep(third, budget="1GB")
        out = probe(torch.randn(4, 8))
        budget = max(1, int(probe.ledger().bytes * share))
        del out, probe
    kept = secondpass.keep(model, budget=budget, policy=policy)
    try:
        found = observe(model, kept, passes, retain=False, steps=steps)
    except secondpass.keep.BudgetError:
        assert budget is not None
        return
    assert differences(expected, found) == []


@hypothesis.settings(max_examples=25, deadline=None, derandomize=True, database=None)
@hypothesis.given(BLOCKS, some.floats(0.1, 1.0), some.integers(1, 3), some.integers(0, 99))
def test_what_is_held_stays_within_the_budget(blocks, share, passes, number):
    """From the first call on, at the end of the forward and of every pass."""
    zoo.seed(number)
    model = zoo.Stack([kind() for kind in blocks])
    probe = secondpass.keep(copy.deepcopy(model), budget="1GB")
    out = probe(torch.randn(4, 8))
    budget = max(1, int(probe.ledger().bytes * share))
    del out, probe
    kept = secondpass.keep(model, budget=budget)
    for _ in range(2):
        try:
            out = kept(torch.randn(4, 8))
        except secondpass.keep.BudgetError as error:
            assert str(budget) in str(error)
            return
        assert kept.ledger().held <= budget
        for _ in range(passes):
            out.pow(2).mean().backward()
            assert kept.ledger().held <= budget
        del out
