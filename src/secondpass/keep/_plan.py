# SPDX-License-Identifier: BSD-3-Clause
"""What to hold: the cheapest set of recomputes that fits the budget, or the fewest bytes that go to the host."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

__all__ = ["Choice", "Cost", "Lean", "choose", "choose_lean", "least", "needed", "send", "travelling"]


class Lean(NamedTuple):
    """One run, held without some results of its layers."""

    bytes: int
    seconds: float
    """Time to make them."""
    waiting: int
    """Bytes that making them takes while a pass goes through."""
    left_out: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Cost:
    """What one run of a unit costs."""

    bytes: int
    """What is held of it over the passes."""
    seconds: float
    """Time to make its buffers again."""
    pinned: bool = False
    """It can only be held."""
    away: int | None = None
    """Bytes that it takes while a pass goes through it, if it is not held; by default as many as held."""
    waiting: int = 0
    """Bytes that it takes while a pass goes through it, if it is held."""
    leaner: tuple[Lean, ...] = ()
    """What it costs to hold less of it, from the most to the least."""
    whole: int = 0
    """Bytes that its forward takes."""

    @property
    def work(self) -> int:
        return self.bytes if self.away is None else self.away


def needed(costs: Sequence[Cost], held: frozenset[int], fixed: int) -> int:
    """The most bytes that are alive at once: what is held for all passes, and the unit at work."""
    work = max((cost.waiting if index in held else cost.work for index, cost in enumerate(costs)), default=0)
    return fixed + sum(costs[index].bytes for index in held) + work


def least(costs: Sequence[Cost], fixed: int) -> int:
    """The smallest budget that can be met."""
    return needed(costs, frozenset(i for i, cost in enumerate(costs) if cost.pinned), fixed)


def choose(costs: Sequence[Cost], fixed: int, budget: int) -> frozenset[int] | None:
    """The runs to hold in all passes, or None where even holding nothing is too much.

    The set stays the same over the passes: each pass scans the units in the same order, and for such a scan a fixed
    set is best. The largest unit outside of the set needs room of its own, so each size is tried as that largest one.
    Of equals the earlier ones are held: what the last unit of the forward saved is still there when the first pass
    begins with it, and is not made again.
    """
    best: tuple[float, frozenset[int]] | None = None
    waiting = max((cost.waiting for cost in costs), default=0)
    for room in sorted({max(waiting, room) for room in (0, *(cost.work for cost in costs))}):
        held = {i for i, cost in enumerate(costs) if cost.pinned or cost.work > room}
        left = budget - fixed - room - sum(costs[i].bytes for i in held)
        rest = sorted(
            (i for i in range(len(costs)) if i not in held),
            key=lambda i: (_worth(costs[i]), -i),
            reverse=True,
        )
        for index in rest:
            if costs[index].bytes <= left:
                held.add(index)
                left -= costs[index].bytes
        found = frozenset(held)
        if needed(costs, found, fixed) > budget:
            continue
        price = sum(cost.seconds for i, cost in enumerate(costs) if i not in found)
        if best is None or price < best[0]:
            best = (price, found)
    return best[1] if best else None


def _worth(cost: Cost) -> float:
    """Seconds saved per byte, to two digits: units that are alike shall count as equal."""
    return float(f"{cost.seconds / max(cost.bytes, 1):.1e}")


class Choice(NamedTuple):
    """What is held in all passes, and in which way."""

    held: frozenset[int]
    ways: list[Lean]
    seconds: float
    """That a pass takes longer."""


def choose_lean(costs: Sequence[Cost], fixed: int, forward: int, budget: int) -> Choice | None:
    """As `choose`, where less may be held of a run.

    First all are held as lean as can be. What room that leaves is given back where it saves the most time, to the later
    runs of equal ones: what comes before a run is held while its forward needs room for everything.
    """
    ways = [list(cost.leaner) for cost in costs]
    lean = [_as_lean(cost) for cost in costs]
    held = choose(lean, fixed, budget)
    if held is None or max(needed(lean, held, fixed), _ahead(lean, held, forward)) > budget:
        return None
    moves = [(-_gain(costs[index], ways[index]), -index) for index in held if ways[index]]
    heapq.heapify(moves)
    while moves:
        index = -heapq.heappop(moves)[1]
        more = ways[index][-2] if len(ways[index]) > 1 else Lean(costs[index].bytes, 0.0, 0)
        tried = list(lean)
        tried[index] = replace(lean[index], bytes=more.bytes, waiting=more.waiting)
        if max(needed(tried, held, fixed), _ahead(tried, held, forward)) <= budget:
            lean = tried
            ways[index].pop()
            if ways[index]:
                heapq.heappush(moves, (-_gain(costs[index], ways[index]), -index))
    found = [way[-1] if way else Lean(cost.bytes, 0.0, 0) for cost, way in zip(costs, ways, strict=True)]
    seconds = [found[index].seconds if index in held else cost.seconds for index, cost in enumerate(costs)]
    return Choice(held, found, sum(seconds))


def _as_lean(cost: Cost) -> Cost:
    if not cost.leaner:
        return cost
    way = cost.leaner[-1]
    gained = max(0.0, cost.seconds - way.seconds)
    return replace(cost, bytes=way.bytes, seconds=gained, away=cost.work, waiting=way.waiting)


def _gain(cost: Cost, ways: list[Lean]) -> float:
    """Seconds saved per byte by holding one step more of a run, to two digits."""
    less, more = ways[-1], ways[-2] if len(ways) > 1 else Lean(cost.bytes, 0.0, 0)
    return float(f"{(less.seconds - more.seconds) / max(more.bytes - less.bytes, 1):.1e}")


def _ahead(costs: Sequence[Cost], held: frozenset[int], fixed: int) -> int:
    """The most bytes that are alive at once in the forward."""
    before = most = 0
    for index, cost in enumerate(costs):
        most = max(most, before + cost.whole)
        before += cost.bytes if index in held else 0
    return fixed + most


Sizes = Sequence[tuple[int, int]]
"""The buffers of a run that have memory of their own: number and bytes."""


def travelling(sizes: Sequence[Sizes], sent: Sequence[frozenset[int]]) -> int:
    """Room for what comes back from the host: the unit at work, and the one fetched ahead."""
    return 2 * max((_bytes(run, away) for run, away in zip(sizes, sent, strict=True)), default=0)


def send(sizes: Sequence[Sizes], fixed: int, budget: int) -> list[frozenset[int]] | None:
    """The buffers of each run that go to the host, or None where sending all of them is not enough.

    As few bytes as need be: the largest buffers first, so that every unit sends some and the bus is busy all the time
    (whole units would leave it idle in one half of a pass and be late in the other), and at last some small ones.
    """
    sent: list[frozenset[int]] = [frozenset() for _ in sizes]
    loads = [0] * len(sizes)
    held = sum(size for run in sizes for _, size in run)
    here = sorted(((-size, index, number) for index, run in enumerate(sizes) for number, size in run), reverse=True)
    while (over := fixed + held + 2 * max(loads, default=0) - budget) > 0:
        for index, numbers in _small(sizes, sent, over) if here and -here[-1][0] >= over else ():
            tried = [*sent[:index], sent[index] | numbers, *sent[index + 1 :]]
            if fixed + held - _bytes(sizes[index], numbers) + travelling(sizes, tried) <= budget:
                return tried
        if not here:
            return None
        size, index, number = here.pop()
        sent[index] |= {number}
        loads[index] -= size
        held += size
    return sent


def _small(sizes: Sequence[Sizes], sent: Sequence[frozenset[int]], over: int) -> list[tuple[int, frozenset[int]]]:
    """For each run the fewest bytes that are enough, as nearly as may be, of what it still holds; the fewest first."""
    found = []
    for index, run in enumerate(sizes):
        rest = sorted((size, number) for number, size in run if number not in sent[index])
        taken: list[tuple[int, int]] = []
        for way in rest:
            if sum(size for size, _ in taken) < over:
                taken.append(way)
        for way in tuple(taken):
            if sum(size for size, _ in taken) - way[0] >= over:
                taken.remove(way)
        alone = [[way] for way in rest if way[0] >= over][:1]
        total, _, best = min((sum(size for size, _ in some), len(some), some) for some in (taken, *alone))
        if total >= over:
            found.append((total, index, frozenset(number for _, number in best)))
    return [(index, numbers) for _, index, numbers in sorted(found, key=lambda way: way[:2])]


def _bytes(run: Sizes, numbers: frozenset[int]) -> int:
    return sum(size for number, size in run if number in numbers)
