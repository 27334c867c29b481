# SPDX-License-Identifier: BSD-3-Clause
"""Which units to hold: the cheapest set of recomputes that fits the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Cost", "choose", "least", "needed"]


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


def needed(costs: Sequence[Cost], held: frozenset[int], fixed: int, ahead: int = 0) -> int:
    """The most bytes that are alive at once: what is held for all passes, the unit at work and those fetched ahead."""
    rest = sorted((cost.work for index, cost in enumerate(costs) if index not in held), reverse=True)
    return fixed + sum(costs[index].bytes for index in held) + sum(rest[: 1 + ahead])


def least(costs: Sequence[Cost], fixed: int, ahead: int = 0) -> int:
    """The smallest budget that can be met."""
    return needed(costs, frozenset(i for i, cost in enumerate(costs) if cost.pinned), fixed, ahead)


def choose(costs: Sequence[Cost], fixed: int, budget: int, ahead: int = 0) -> frozenset[int] | None:
    """The runs to hold in all passes, or None where even holding nothing is too much.

    The set stays the same over the passes: each pass scans the units in the same order, and for such a scan a fixed
    set is best. The largest unit outside of the set needs room of its own, so each size is tried as that largest one.
    With copies fetched `ahead`, that many more units need room at the same time.
    Of equals the earlier ones are held: what the last unit of the forward saved is still there when the first pass
    begins with it, and is not made again. With copies the later ones: the earlier have the most time to come and go.
    """
    best: tuple[float, frozenset[int]] | None = None
    for room in sorted({0, *(cost.work for cost in costs)}):
        held = {i for i, cost in enumerate(costs) if cost.pinned or cost.work > room}
        left = budget - fixed - room * (1 + ahead) - sum(costs[i].bytes for i in held)
        rest = sorted(
            (i for i in range(len(costs)) if i not in held),
            key=lambda i: (_worth(costs[i]), i if ahead else -i),
            reverse=True,
        )
        for index in rest:
            if costs[index].bytes <= left:
                held.add(index)
                left -= costs[index].bytes
        found = frozenset(held)
        if needed(costs, found, fixed, ahead) > budget:
            continue
        price = sum(cost.seconds for i, cost in enumerate(costs) if i not in found)
        if best is None or price < best[0]:
            best = (price, found)
    return best[1] if best else None


def _worth(cost: Cost) -> float:
    """Seconds saved per byte, to two digits: units that are alike shall count as equal."""
    return float(f"{cost.seconds / max(cost.bytes, 1):.1e}")
