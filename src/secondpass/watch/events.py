# SPDX-License-Identifier: BSD-3-Clause
"""What a watcher writes down while the program runs: small, bounded, and numbers only."""

from __future__ import annotations

from collections import deque
from typing import Any

from .names import Snapshot

__all__ = ["Ledger", "PassNote", "Reused", "StepNote"]

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
    followed = True

    def __init__(self, when: int, key: tuple[Any, ...], mark: int, position: int) -> None:
        self.when, self.key, self.mark, self.position = when, key, mark, position


class Ledger:
    """The first events and the last ones. Nothing grows with the number of steps."""

    def __init__(self) -> None:
        self.clock = 0
        self.passes = 0
        self.steps = 0
        self._head: list[Any] = []
        self._tail: deque[Any] = deque(maxlen=_TAIL)
        self.pass_sites: dict[tuple[Any, ...], list[Any]] = {}
        self.step_sites: dict[tuple[Any, ...], list[Any]] = {}

    def tick(self) -> int:
        self.clock += 1
        return self.clock - 1

    def site(self, key: tuple[Any, ...], sites: dict[tuple[Any, ...], list[Any]]) -> tuple[tuple[Any, ...], int]:
        """A call site, one object for all its visits, and how many there were with this one.

        Sites are places in source, so they are few; a program that makes new ones without end is not counted exactly.
        """
        entry = sites.get(key)
        if entry is None:
            if len(sites) > 10_000:
                sites.clear()
            entry = sites[key] = [key, 0]
        entry[1] += 1
        return entry[0], entry[1]

    def add(self, note: Any) -> None:
        if len(self._head) < _HEAD:
            self._head.append(note)
        else:
            self._tail.append(note)

    def notes(self) -> list[Any]:
        # At once: other threads may be adding.
        return [*self._head, *self._tail]

    def pass_notes(self) -> list[PassNote]:
        return [n for n in self.notes() if isinstance(n, PassNote)]

    def step_notes(self) -> list[StepNote]:
        return [n for n in self.notes() if isinstance(n, StepNote)]
