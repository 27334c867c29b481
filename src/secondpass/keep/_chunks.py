# SPDX-License-Identifier: BSD-3-Clause
"""How many losses to walk at once: tried while working, and remembered for graphs of the same kind."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator

__all__ = ["Chunks"]

_ENOUGH = 0.97  # of the time of one alone: less gain is noise


class _Memory:
    """The fastest sizes of the last kinds of graphs."""

    def __init__(self) -> None:
        self.known: OrderedDict[Hashable, tuple[dict[int, float], dict[int, int]]] = OrderedDict()

    def times(self, kind: Hashable) -> tuple[dict[int, float], dict[int, int]]:
        found = self.known.setdefault(kind, ({}, {}))
        self.known.move_to_end(kind)
        if len(self.known) > 64:
            self.known.popitem(last=False)
        return found


_memory = _Memory()


class Chunks:
    """Yields sizes of chunks until all losses are done; is told how long one loss took in each."""

    def __init__(self, kind: Hashable, count: int, most: int) -> None:
        self._times, self._tries = _memory.times(kind)
        self._count, self._most, self._size = count, max(1, min(most, count)), 1

    def __iter__(self) -> Iterator[int]:
        left = self._count
        while left:
            self._size = min(self._next(), left)
            left -= self._size
            yield self._size

    @property
    def trying(self) -> bool:
        """Is the time of the present size wanted? Taking it makes a device wait."""
        return self._tries.get(self._size, 0) < 2

    def took(self, seconds: float) -> None:
        """Per loss. The best time counts: the first one of a kind is slow for other reasons."""
        self._times[self._size] = min(seconds, self._times.get(self._size, seconds))
        self._tries[self._size] = self._tries.get(self._size, 0) + 1

    def _next(self) -> int:
        """One alone first, then twice as many as long as that pays."""
        size = 1
        while size in self._times and 2 * size <= self._most:
            if 2 * size in self._times and self._times[2 * size] > _ENOUGH * self._times[size]:
                break
            size *= 2
        return size
