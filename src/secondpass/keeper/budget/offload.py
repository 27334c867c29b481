# SPDX-License-Identifier: BSD-3-Clause
"""Choosing what goes to the host: the fewest bytes that fit the budget."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["Sizes", "send", "travelling"]

Sizes = Sequence[tuple[int, int]]
"""The saved tensors of a segment that have memory of their own: number and bytes."""


def travelling(sizes: Sequence[Sizes], sent: Sequence[frozenset[int]]) -> int:
    """Room for what comes back from the host: the segment at work, and the one fetched ahead."""
    return 2 * max((_bytes(run, away) for run, away in zip(sizes, sent, strict=True)), default=0)


def send(sizes: Sequence[Sizes], fixed: int, budget: int) -> list[frozenset[int]] | None:
    """The tensors of each segment that go to the host, or None where sending all of them is not enough.

    As few bytes as need be: the largest tensors first, so that every segment sends some and the bus is busy all the time
    (whole segments would leave it idle in one half of a pass and be late in the other), and at last some small ones.
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
    """For each segment the fewest bytes that are enough, as nearly as may be, of what it holds; the fewest first."""
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
