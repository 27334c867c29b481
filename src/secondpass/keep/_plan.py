# SPDX-License-Identifier: BSD-3-Clause
"""What to hold: the cheapest set of recomputes that fits the budget, or the fewest bytes that go to the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Cost", "choose", "least", "needed", "send", "travelling"]


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

    @property
    def work(self) -> int:
        return self.bytes if self.away is None else self.away


def needed(costs: Sequence[Cost], held: frozenset[int], fixed: int) -> int:
    """The most bytes that are alive at once: what is held for all passes, and the unit at work."""
    work = max((cost.work for index, cost in enumerate(costs) if index not in held), default=0)
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
    for room in sorted({0, *(cost.work for cost in costs)}):
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
