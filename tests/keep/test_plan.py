# SPDX-License-Identifier: BSD-3-Clause
import itertools
import random

from secondpass.keep._plan import Cost, choose, least, needed, send, travelling


def best_by_trying(costs, fixed, budget):
    found = []
    for size in range(len(costs) + 1):
        for held in itertools.combinations(range(len(costs)), size):
            held = frozenset(held)
            pinned = all(i in held for i, c in enumerate(costs) if c.pinned)
            if pinned and needed(costs, held, fixed) <= budget:
                found.append(sum(c.seconds for i, c in enumerate(costs) if i not in held))
    return min(found, default=None)


def test_equal_units_are_planned_as_well_as_can_be():
    for count in range(1, 7):
        costs = [Cost(10, 1.0)] * count
        for budget in range(5, 90, 5):
            held = choose(costs, 5, budget)
            best = best_by_trying(costs, 5, budget)
            assert (held is None) == (best is None)
            if held is not None:
                assert len(costs) - len(held) == best
                assert held == frozenset(range(len(held)))  # the earlier ones


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


def test_every_unit_sends_its_largest_buffer_before_any_sends_a_second():
    units = [[(0, 3), (4, 1), (7, 4)]] * 4
    assert send(units, 5, 100) == [frozenset()] * 4
    sent = send(units, 5, 5 + 4 * 8 - 3 * 4 + 8)
    assert sent == [frozenset({7})] * 3 + [frozenset()]
    assert send(units, 5, 5 + 4 * 4 + 8) == [frozenset({7})] * 4
    assert send(units, 5, 5 + 2 * 8) == [frozenset({0, 4, 7})] * 4
    assert send(units, 5, 5 + 2 * 8 - 1) is None


def test_what_is_sent_leaves_enough_room():
    dice = random.Random(1)
    for _ in range(300):
        units = [[(n, dice.randrange(1, 9)) for n in range(dice.randrange(4))] for _ in range(dice.randrange(1, 6))]
        fixed, budget = dice.randrange(10), dice.randrange(5, 60)
        sent = send(units, fixed, budget)
        everything = [frozenset(n for n, _ in unit) for unit in units]
        if sent is None:
            assert fixed + travelling(units, everything) > budget
        else:
            held = sum(size for unit, away in zip(units, sent, strict=True) for n, size in unit if n not in away)
            assert fixed + held + travelling(units, sent) <= budget
