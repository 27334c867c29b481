# SPDX-License-Identifier: BSD-3-Clause
"""What a watcher writes down while the program runs: small, bounded, and numbers only."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from itertools import count, islice
from typing import Any

from .bindings import Snapshot

__all__ = ["Ledger", "PassNote", "Site", "StepNote"]

Used = dict[int, tuple[int, ...] | None]
"""What the gradients of some leaves were made of: see `record.event`."""

_HEAD, _TAIL = 256, 512


class PassNote:
    """One pass as it was seen. What is rarely set is a default of the class: making a note is on every pass's way."""

    roots: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    given: tuple[int, ...] = ()
    inputs: tuple[int, ...] | None = None
    retain = create = nested = False
    maker: tuple[int, str] | None = None
    """Of a pass within a pass: the number and the operation of the node whose backward made it."""
    direct: bool | None = None
    recording: bool | None = None
    iteration = 0
    outcome = "ok"
    kept: int | None = None
    shot: Snapshot | None = None
    walked: frozenset[int] | None = None
    heads: dict[int, tuple[str, tuple[int, ...]]] | None = None
    """See `record.Pass`; so is `value`."""
    value: int | None = None
    optimizers: dict[str, Any] | None = None
    """The books of the optimizers that names led to when it began."""
    behind: frozenset[int] | None = None
    """The leaves behind its roots, those that it did not walk to included."""
    nodes: dict[int, tuple[str, tuple[int, ...]]] | None = None
    """Operations and parents of all that it walked, where some of it had been walked and freed before."""
    followed = False
    """Whether gradients were looked at before and after it."""
    cleared: tuple[int, ...] = ()
    """Leaves whose gradient was cleared since the event before."""
    found: Used | None = None
    versions: dict[int, int] | None = None
    filled: tuple[int, ...] | None = None
    handed: Any = ()
    """What the reducers of DistributedDataParallel said when it began; `reduced`: what they were given in it."""
    reduced: dict[int, tuple[int, ...]] | None = None

    @property
    def in_main_thread(self) -> bool:
        """Whether the log of statements tells of what its thread did."""
        return self.thread in (0, threading.main_thread().ident)

    def __init__(self, when: int, kind: str, key: tuple[Any, ...], thread: int, entry: int, position: int) -> None:
        self.when, self.kind, self.key = when, kind, key
        self.thread, self.entry, self.position = thread, entry, position
        self.exit = entry


class StepNote:
    """One step of an optimizer as it was seen."""

    book: Any = None
    hand: tuple[int, ...] = ()
    """The leaves that the user's own code changed: a step without an optimizer."""
    iteration = 0
    thread = 0
    followed = False
    """Whether gradients were looked at before it."""
    cleared: tuple[int, ...] = ()
    used: Used | None = None
    moved: tuple[int, ...] | None = None
    digest: int | None = None
    passes: tuple[int, ...] = ()
    """The passes that ran inside it."""

    def __init__(self, when: int, key: tuple[Any, ...], mark: int, position: int) -> None:
        self.when, self.key, self.mark, self.position = when, key, mark, position


class Site:
    """A call site: one object for all its visits."""

    __slots__ = ("count", "key", "kind", "offset", "steady")

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key
        self.kind = "backward"
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
        self._ticks = count(1)  # threads take numbers from it without a lock
        self._clock = self._passes = self._steps = 0
        self._head: list[Any] = []
        self._tail: deque[Any] = deque(maxlen=_TAIL)
        self.settle: Callable[[], None] = lambda: None
        """Enters what was noted in short (see `short_notes`). Called before anything is read or written here."""
        self.whole: Callable[[Any], Any] = lambda note: note
        self._whole: dict[int, Any] = {}
        self.places: Callable[[tuple[Any, ...]], Any] | None = None
        """Where a call site is, while functions may be given other code (see `mark_running`)."""
        self.pass_sites: dict[tuple[Any, ...], Site] = {}
        self.step_sites: dict[tuple[Any, ...], Site] = {}
        self._at_place: dict[tuple[Any, ...], list[Site]] = {}
        """The sites of passes, and of steps, by how many frames they have and where the innermost is."""

    @property
    def clock(self) -> int:
        self.settle()
        return self._clock

    @property
    def passes(self) -> int:
        self.settle()
        return self._passes

    @property
    def steps(self) -> int:
        self.settle()
        return self._steps

    def tick(self) -> int:
        self.settle()
        self._clock = next(self._ticks)
        return self._clock

    def site(self, key: tuple[Any, ...], sites: dict[tuple[Any, ...], Site]) -> Site:
        """A call site, with this pass or step counted.

        Sites are places in source, so they are few; a program that makes new ones without end is not counted exactly.
        """
        self.settle()
        entry = sites.get(key)
        if entry is None:
            if len(sites) > 10_000:
                sites.clear()
                self._at_place.clear()
            entry = sites[key] = self._like(key, sites is self.pass_sites) or Site(key)
        entry.count += 1
        if sites is self.pass_sites:
            self._passes += 1
        else:
            self._steps += 1
        return entry

    def _like(self, key: tuple[Any, ...], passes: bool) -> Site | None:
        """The site of a call whose function was given marks meanwhile: the same place in other code."""
        if self.places is None:
            return None
        here = self._at_place.setdefault((passes, len(key), self.places(key[:2])), [])
        alike = [s for s in here if s.key[::2] != key[::2]]
        places = self.places(key) if alike else None
        like = next((s for s in alike if self.places(s.key) == places), None)
        if like is None:
            here.append(Site(key))
        return like or here[-1]

    @property
    def settled(self) -> bool:
        """Whether the first events are past: from here on notes are added at the end, short ones too."""
        return len(self._head) >= _HEAD

    def add(self, note: Any) -> None:
        """Adds a full note."""
        if len(self._head) < _HEAD:
            self._head.append(note)
        else:
            self._tail.append(note)

    def add_short(self, notes: Iterable[tuple[Site, Any, int, int, bool]]) -> None:
        """Adds short notes: site, optimizer if it is a step, number, position, and whether a pass keeps its graph."""
        passes, steps, add = 0, 0, self._tail.append
        for site, book, number, position, retain in notes:
            self._clock = next(self._ticks)
            site.count += 1
            if book is not None:
                book.steps += 1
                steps += 1
            else:
                passes += 1
            add((self._clock, site, site.count, number, position, retain if book is None else book))
        self._steps += steps
        self._passes += passes

    def notes(self) -> list[Any]:
        self.settle()
        # At once: other threads may be adding. A short note is made whole once: what is found out about it is written there.
        notes = [*self._head, *self._tail]
        known, self._whole = self._whole, {}
        for k, short in enumerate(notes):
            if type(short) is tuple:
                notes[k] = self._whole[short[0]] = known.get(short[0]) or self.whole(short)
        return notes

    def make_whole(self) -> PassNote:
        """The last short note of a pass becomes a full one."""
        self.settle()
        at = next(k for k in reversed(range(len(self._tail))) if _is_short_pass(self._tail[k]))
        self._tail[at] = self.whole(self._tail[at])
        return self._tail[at]  # type: ignore[no-any-return]

    def looked_at(self, count: int) -> list[PassNote]:
        """The last notes of passes whose graph was looked at, newest first: those are never short."""
        self.settle()
        found = (n for n in reversed([*self._head, *self._tail]) if isinstance(n, PassNote) and n.walked is not None)
        return list(islice(found, count))

    def pass_notes(self) -> list[PassNote]:
        return [n for n in self.notes() if isinstance(n, PassNote)]

    def step_notes(self) -> list[StepNote]:
        return [n for n in self.notes() if isinstance(n, StepNote)]


def _is_short_pass(note: Any) -> bool:
    return type(note) is tuple and type(note[-1]) is bool
