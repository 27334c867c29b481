# SPDX-License-Identifier: BSD-3-Clause
import itertools
import random

from secondpass.keep._plan import Cost, Lean, choose, choose_lean, least, needed, send, travelling


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


def lean(size, seconds, *steps):
    """A unit that may be held without some parts, each given by its bytes and the time to make it."""
    ways, left, time = [], size, 0.0
    for number, (part, more) in enumerate(steps):
        left, time = left - part, time + more
        ways.append(Lean(left, time, 2, frozenset(range(number + 1))))
    return Cost(size, seconds, leaner=tuple(ways), whole=size)


def best_lean(costs, fixed, budget):
    """By trying all ways."""
    found = []
    for ways in itertools.product(*([None, Lean(c.bytes, 0.0, 0), *c.leaner] for c in costs)):
        held = sum(way.bytes for way in ways if way is not None)
        work = max(cost.work if way is None else way.waiting for cost, way in zip(costs, ways, strict=True))
        if fixed + held + work <= budget:
            found.append(sum(c.seconds if w is None else w.seconds for c, w in zip(costs, ways, strict=True)))
    return min(found, default=None)


def test_equal_units_are_held_lean_rather_than_made_again():
    costs = [lean(10, 1.0, (4, 0.2), (3, 0.3))] * 4
    assert choose_lean(costs, 5, 5, 60).seconds == 0
    choice = choose_lean(costs, 5, 5, 44)
    assert choice.held == {0, 1, 2, 3}
    assert choice.seconds == best_lean(costs, 5, 44) == 0.2
    assert [len(way.left_out) for way in choice.ways] == [1, 0, 0, 0]  # the later ones are held in full
    for budget in range(29, 60):
        choice = choose_lean(costs, 5, 5, budget)
        assert best_lean(costs, 5, budget) <= choice.seconds <= best_lean(costs, 5, budget) + 0.5


def test_random_lean_units_fit_their_budget():
    dice = random.Random(2)
    tried = 0
    for _ in range(300):
        costs = []
        for _ in range(dice.randrange(1, 5)):
            parts = [(dice.randrange(1, 5), dice.random()) for _ in range(dice.randrange(4))]
            costs.append(lean(sum(size for size, _ in parts) + dice.randrange(1, 9), 2 * dice.random(), *parts))
        fixed, budget = dice.randrange(10), dice.randrange(5, 80)
        choice = choose_lean(costs, fixed, 0, budget)
        if choice is None:
            continue
        tried += 1
        held = [way.bytes for index, way in enumerate(choice.ways) if index in choice.held]
        works = [way.waiting if i in choice.held else costs[i].work for i, way in enumerate(choice.ways)]
        assert fixed + sum(held) + max(works) <= budget
        assert choice.seconds >= best_lean(costs, fixed, budget) - 1e-9
    assert tried > 100


def test_a_forward_needs_room_for_all_of_a_unit():
    costs = [lean(10, 1.0, (8, 0.1))] * 3
    assert choose_lean(costs, 0, 0, 20).held == {0, 1, 2}
    assert choose_lean(costs, 0, 7, 20) is None  # two are held lean while the third one runs: 7 + 4 + 10


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
