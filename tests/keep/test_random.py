# SPDX-License-Identifier: BSD-3-Clause
"""Random models, policies, budgets and numbers of passes: no gradient differs in a bit."""

import copy
import gc

import pytest
import torch
import zoo
from harness import differences, observe
from torch.utils.checkpoint import checkpoint

import secondpass
from secondpass.keeper import engine as _engine

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as some  # noqa: E402

BLOCKS = some.lists(some.sampled_from(zoo.BLOCKS), min_size=1, max_size=5)
PLAIN = [zoo.Plain, zoo.Dropped, zoo.Gated, zoo.Attention, zoo.Cells, zoo.Spectral, zoo.Weighted]
POLICY = some.sampled_from(["auto", "retain", "recompute", "offload"])


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True, database=None)
@hypothesis.given(
    BLOCKS, POLICY, some.floats(0.05, 1.2), some.integers(1, 4), some.integers(1, 3), some.integers(0, 99)
)
def test_nothing_differs(blocks, policy, share, passes, steps, number):
    compare(blocks, policy, share, passes, steps, number, lambda call: call)
    nothing_is_left()


@hypothesis.settings(max_examples=30, deadline=None, derandomize=True, database=None)
@hypothesis.given(
    some.lists(some.sampled_from(PLAIN), min_size=1, max_size=4),
    POLICY,
    some.floats(0.05, 1.2),
    some.integers(1, 3),
    some.sampled_from(["autocast", "checkpoint", "twice", "deep"]),
)
def test_nothing_differs_within_other_things(blocks, policy, share, passes, around):
    """Under autocast, inside of a checkpoint, called twice, and with a model around it that is not kept."""

    def wrap(call):
        def autocast(x):
            with torch.autocast("cpu", torch.float16):
                return call(x).float()

        def deep(x):
            return torch.sin(call(torch.sigmoid(call(x) * 2)).exp())

        def twice(x):
            return call(x) * call(x.flip(0)) + x

        def checkpointed(x):
            return checkpoint(call, x, use_reentrant=False)

        return {"autocast": autocast, "checkpoint": checkpointed, "twice": twice, "deep": deep}[around]

    # What lies around a kept call is spent by each pass, as always: so everything is told to retain.
    compare(blocks, policy, share, passes, 2, 0, wrap, retain=True)
    nothing_is_left()


def nothing_is_left():
    gc.collect()
    assert not list(_engine._engine.calls)


def compare(blocks, policy, share, passes, steps, number, wrap, retain=False):
    zoo.seed(number)
    plain = zoo.Stack([kind() for kind in blocks])
    model, third = copy.deepcopy(plain), copy.deepcopy(plain)
    expected = observe(plain, wrap(plain), passes, retain=True, steps=steps)
    budget = None
    if policy in ("auto", "offload"):
        probe = secondpass.keep(third, budget="1GB")
        out = probe(torch.randn(4, 8))
        budget = max(1, int(probe.ledger().bytes * share))
        del out, probe
    kept = secondpass.keep(model, budget=budget, policy=policy)
    try:
        found = observe(model, wrap(kept), passes, retain=retain, steps=steps)
    except secondpass.BudgetError:
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
        except secondpass.BudgetError as error:
            assert str(budget) in str(error)
            return
        assert kept.ledger().held <= budget
        for _ in range(passes):
            out.pow(2).mean().backward()
            assert kept.ledger().held <= budget
        del out
