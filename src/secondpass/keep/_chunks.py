# SPDX-License-Identifier: BSD-3-Clause
"""How many losses to walk at once: tried while working, and remembered for graphs of the same kind.

Walking several at once does the same multiplications in fewer calls. That is several times as fast where the calls
cost more than the work in them, and a little slower where a walk is busy with its work: only the clock can tell.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

__all__ = ["Chunks"]

_TRIES = 3
_ENOUGH = 0.97  # of the time of one alone: less gain is noise, and one alone needs the least room


@dataclass
class _Kind:
    """What is known of graphs of one kind."""

    times: dict[int, float] = field(default_factory=dict)
    tries: dict[int, int] = field(default_factory=dict)
    works: bool | None = None
    """Can they be walked at once? Not every operation can."""


class _Memory:
    """The last kinds of graphs."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, _Kind] = OrderedDict()

    def kind(self, key: Hashable) -> _Kind:
        found = self._known.setdefault(key, _Kind())
        self._known.move_to_end(key)
        if len(self._known) > 64:
            self._known.popitem(last=False)
        return found


_memory = _Memory()


class Chunks:
    """Yields sizes of chunks until all losses are done; is told how long one loss took in each."""

    def __init__(self, key: Hashable, count: int, most: int) -> None:
        self.kind = _memory.kind(key)
        most = 1 if self.kind.works is False else max(1, min(most, count))
        self._count, self._size = count, 1
        self._sizes = sorted({most, -(-most // 2), 1}, reverse=True)

    def __iter__(self) -> Iterator[int]:
        left = self._count
        while left:
            self._size = min(self._next(left), left)
            left -= self._size
            yield self._size

    @property
    def trying(self) -> bool:
        """Is the time of the present size wanted? Taking it makes a device wait."""
        return self._size in self._sizes and self.kind.tries.get(self._size, 0) < _TRIES

    def took(self, seconds: float) -> None:
        """Per loss. The best time counts: the first one of a kind is slow for other reasons."""
        self.kind.times[self._size] = min(seconds, self.kind.times.get(self._size, seconds))
        self.kind.tries[self._size] = self.kind.tries.get(self._size, 0) + 1

    def _next(self, left: int) -> int:
        """Each size in turn, then the fastest."""
        untried = [size for size in self._sizes if size <= left and self.kind.tries.get(size, 0) < _TRIES]
        if untried:
            return min(untried, key=lambda size: self.kind.tries.get(size, 0))
        known = {size: time for size, time in self.kind.times.items() if size in self._sizes and size <= left}
        best = min(known, key=known.__getitem__, default=1)
        return best if 1 not in known or known[best] < _ENOUGH * known[1] else 1
