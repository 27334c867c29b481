# SPDX-License-Identifier: BSD-3-Clause
import itertools
import random

import pytest

from secondpass.keep._plan import Cost, choose, least, needed


def best_by_trying(costs, fixed, budget, ahead):
    found = []
    for size in range(len(costs) + 1):
        for held in itertools.combinations(range(len(costs)), size):
            held = frozenset(held)
            pinned = all(i in held for i, c in enumerate(costs) if c.pinned)
            if pinned and needed(costs, held, fixed, ahead) <= budget:
                found.append(sum(c.seconds for i, c in enumerate(costs) if i not in held))
    return min(found, default=None)


@pytest.mark.parametrize("ahead", [0, 1])
def test_equal_units_are_planned_as_well_as_can_be(ahead):
    for count in range(1, 7):
        costs = [Cost(10, 1.0)] * count
        for budget in range(5, 90, 5):
            held = choose(costs, 5, budget, ahead)
            best = best_by_trying(costs, 5, budget, ahead)
            assert (held is None) == (best is None)
            if held is not None:
                assert len(costs) - len(held) == best
                first = len(costs) - len(held) if ahead else 0  # the later ones, or the earlier ones
                assert held == frozenset(range(first, first + len(held)))


def test_random_units_always_fit_and_are_found_when_they_can():
    dice = random.Random(0)
    for _ in range(300):
        costs = [Cost(dice.randrange(1, 30), dice.random(), dice.random() < 0.2) for _ in range(dice.randrange(1, 7))]
        fixed, budget = dice.randrange(10), dice.randrange(5, 120)
        held = choose(costs, fixed, budget)
        if held is None:
            assert budget < least(costs, fixed)
        else:
            assert needed(costs, held, fixed) <= budget
            assert all(i in held for i, cost in enumerate(costs) if cost.pinned)
