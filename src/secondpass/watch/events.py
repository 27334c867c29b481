# SPDX-License-Identifier: BSD-3-Clause
"""What a watcher writes down while the program runs: small, bounded, and numbers only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from .names import Snapshot

__all__ = ["Ledger", "PassNote", "Reused", "Site", "StepNote"]

_HEAD, _TAIL = 256, 512


Reused = tuple[int, str, tuple[int, ...], bool]
"""A node's number and operation, the leaves behind it, and whether the root depends on it by more than sums."""


class PassNote:
    """One pass as it was seen. What is rarely set is a default of the class: making a note is on every pass's way."""

    roots: tuple[int, ...] = ()
    inputs: tuple[int, ...] | None = None
    retain = create = nested = False
    wasted = False
    """Whether its gradients were cleared before any step used them."""
    followed = True
    """Whether gradients were compared around it."""
    iteration = 0
    outcome = "ok"
    kept: int | None = None
    shot: Snapshot | None = None
    walked: frozenset[int] | None = None
    reused: tuple[Reused, ...] = ()
    """Nodes that a freeing pass had walked before."""

    def __init__(self, when: int, kind: str, key: tuple[Any, ...], thread: int, entry: int, position: int) -> None:
        self.when, self.kind, self.key = when, kind, key
        self.thread, self.entry, self.position = thread, entry, position
        self.exit = entry


class StepNote:
    """One step of an optimizer as it was seen."""

    book: Any = None
    hand: tuple[int, ...] = ()
    """The leaves that the user's own code changed: a step without an optimizer."""
    empty: tuple[int, ...] = ()
    stale: tuple[int, ...] = ()
    piled: tuple[int, ...] = ()
    iteration = 0
    inside = False
    within: tuple[int, ...] = ()
    """Leaves on which passes inside the step have put a second gradient, after the step had moved them."""
    again = 0
    """How many passes did."""
    followed = True

    def __init__(self, when: int, key: tuple[Any, ...], mark: int, position: int) -> None:
        self.when, self.key, self.mark, self.position = when, key, mark, position


class Site:
    """A call site: one object for all its visits."""

    __slots__ = ("count", "key", "offset", "steady")

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key
        self.count = 0
        self.offset = 0
        """How far the root of a pass was from the number that the next node would have got."""
        self.steady = 0
        """How many times running it was just so far."""

    def root(self, offset: int) -> None:
        """Told of each pass that is noted in full; what is no node of the pass's own is infinitely far."""
        self.steady = self.steady + 1 if offset == self.offset else 0
        self.offset = offset


class Ledger:
    """The first events and the last ones. Nothing grows with the number of steps."""

    def __init__(self) -> None:
        self.clock = 0
        self.passes = 0
        self.steps = 0
        self._head: list[Any] = []
        self._tail: deque[Any] = deque(maxlen=_TAIL)
        self.short = self._tail.append
        """Adds a short note (see `steady`)."""
        self.whole: Callable[[Any], Any] = lambda note: note
        self._whole: dict[int, Any] = {}
        self.pass_sites: dict[tuple[Any, ...], Site] = {}
        self.step_sites: dict[tuple[Any, ...], Site] = {}

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def site(self, key: tuple[Any, ...], sites: dict[tuple[Any, ...], Site]) -> Site:
        """A call site, with this visit counted.

        Sites are places in source, so they are few; a program that makes new ones without end is not counted exactly.
        """
        entry = sites.get(key)
        if entry is None:
            if len(sites) > 10_000:
                sites.clear()
            entry = sites[key] = Site(key)
        entry.count += 1
        return entry

    @property
    def settled(self) -> bool:
        """Whether the first events are past: from here on notes are added at the end, short ones too."""
        return len(self._head) >= _HEAD

    def add(self, note: Any) -> None:
        if len(self._head) < _HEAD:
            self._head.append(note)
        else:
            self._tail.append(note)

    def notes(self) -> list[Any]:
        # At once: other threads may be adding. A short note is made whole once: what is found out about it is written there.
        notes = [*self._head, *self._tail]
        known, self._whole = self._whole, {}
        for k, short in enumerate(notes):
            if type(short) is tuple:
                notes[k] = self._whole[short[0]] = known.get(short[0]) or self.whole(short)
        return notes

    def make_whole(self) -> Any:
        """The last note, if it is a short one, becomes a full one."""
        self._tail.append(self.whole(self._tail.pop()))
        return self._tail[-1]

    def looked_at(self, count: int) -> list[PassNote]:
        """The last notes of passes whose graph was looked at, newest first: those are never short."""
        found = (n for n in reversed([*self._head, *self._tail]) if isinstance(n, PassNote) and n.walked is not None)
        return list(islice(found, count))

    def pass_notes(self) -> list[PassNote]:
        return [n for n in self.notes() if isinstance(n, PassNote)]

    def step_notes(self) -> list[StepNote]:
        return [n for n in self.notes() if isinstance(n, StepNote)]
