# SPDX-License-Identifier: BSD-3-Clause
"""How to walk the shared part, and for how many losses at once: tried while working, and remembered for graphs alike.

Walking several at once does the same multiplications in fewer calls. That is several times as fast where the calls
cost more than the work in them, and a little slower where a walk is busy with its work: only the clock can tell.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Chunks", "Way"]

_TRIES = 5  # of each way, in turn: others may use the machine meanwhile
_HOPELESS = 1.5  # times the best: not tried again
_ENOUGH = 0.99  # of the time of one alone: less gain is noise, and one alone needs the least room


class Way(NamedTuple):
    """How to walk, and the most losses to walk so at once."""

    how: str
    size: int


ALONE = Way("alone", 1)


@dataclass
class _Kind:
    """What is known of graphs of one kind."""

    times: dict[Way, float] = field(default_factory=dict)
    tries: dict[Way, int] = field(default_factory=dict)
    works: dict[str, Hashable] = field(default_factory=dict)
    """The last graph that was walked in a way, by its nodes, or False: not every operation can."""


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
    """Yields ways until all losses are done; is told how long one loss took in each."""

    def __init__(self, key: Hashable, count: int, ways: Sequence[Way]) -> None:
        self.kind = _memory.kind(key)
        self._count, self._ways, self._way, self._size = count, [*ways, ALONE], ALONE, 1

    def __iter__(self) -> Iterator[tuple[str, int]]:
        left = self._count
        while left:
            self._way = self._next(left)
            self._size = min(self._way.size, left)
            left -= self._size
            yield self._way.how, self._size

    @property
    def trying(self) -> bool:
        """Is the time of the present chunk wanted? Taking it makes a device wait."""
        return self._size == self._way.size and self.kind.tries.get(self._way, 0) < _TRIES

    def took(self, seconds: float) -> None:
        """Per loss. The best time counts: the first one of a kind is slow for other reasons."""
        kind, way = self.kind, self._way
        kind.times[way] = min(seconds, kind.times.get(way, seconds))
        kind.tries[way] = kind.tries.get(way, 0) + 1
        if kind.tries[way] > 1 and kind.times[way] > _HOPELESS * min(kind.times.values()):
            kind.tries[way] = _TRIES

    def _next(self, left: int) -> Way:
        """Each way in turn, then the fastest."""
        tries, times = self.kind.tries, self.kind.times
        ways = [way for way in self._ways if self.kind.works.get(way.how) is not False]
        untried = [way for way in ways if way.size <= left and tries.get(way, 0) < _TRIES]
        if untried:
            return min(untried, key=lambda way: tries.get(way, 0))
        best = min((way for way in ways if way in times), key=times.__getitem__, default=ALONE)
        return best if ALONE not in times or times[best] < _ENOUGH * times[ALONE] else ALONE
