# SPDX-License-Identifier: BSD-3-Clause
"""Places, stacks and loop counts for many positions of the log at once, in one forward reading."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..record import Loop, Place
from .files import Files
from .log import END, ENTRY, LOOP, Log, Statement

__all__ = ["Moment", "Timeline"]

_WINDOW = 600_000
_STRIDE = 20_000
Frame = tuple[Statement | None, int]
"""A call under way: the statement that it is at, and the position at which that began."""
State = tuple[int, list[Frame], dict[int, int]]
"""A mark, what is open before it, and how often each loop has begun by then."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Where the program stood at one position."""

    stack: tuple[Place, ...]
    loops: tuple[Loop, ...]


class _Reading:
    """How far a log was read, for whoever reads it next: a program that catches a hundred failures is not read a hundred
    times from its beginning.

    All that is known here was counted from one and the same mark on; where that is not to be had any more, it begins anew.
    """

    def __init__(self) -> None:
        self.states: list[State] = []
        """Rising, not far from one another."""
        self.moments: dict[int, Moment] = {}
        """Those of the last who asked, with the files by whose names they go."""
        self.files: Files | None = None

    def known(self, files: Files) -> dict[int, Moment]:
        return self.moments if self.files is files else {}

    def before(self, position: int, dropped: int) -> State | None:
        """The last state at or before a mark, if the log still has what follows on it."""
        while self.states and self.states[0][0] < dropped:
            self.states = self.states[1:]
        at = bisect_right(self.states, position, key=lambda state: state[0]) - 1
        return self.states[at] if at >= 0 else None

    def keep(self, at: int, frames: list[Frame], counts: dict[int, int]) -> None:
        if not self.states or at >= self.states[-1][0] + _STRIDE:
            self.states.append((at, frames[:], dict(counts)))


class Timeline:
    """Reads the log once for all the positions asked for: `built` are marks of nodes, `passes` those of passes."""

    def __init__(self, log: Log, files: Files, built: Iterable[int], passes: Iterable[int], until: int = 0) -> None:
        self.log, self.files = log, files
        self.moments: dict[int, Moment] = {}
        self._runs: dict[int, list[int]] = {}
        """Positions of the marks of some statements, as far as `until`."""
        self._places: dict[int, Place] = {}
        counted = sorted({p for p in built if p >= log.dropped})
        wanted = sorted({*counted, *(p for p in passes if p >= log.dropped)})
        if wanted:
            self._read(wanted)
        if counted:
            self._count(counted, max(until, counted[-1] + 1))

    def again(self, position: int) -> int | None:
        """How often the statement of a mark was begun again afterwards."""
        if position < self.log.dropped:
            return None
        runs = self._runs.get(self.log.marks[position - self.log.dropped] & 0xFFFFFF)
        return None if runs is None else len(runs) - bisect_right(runs, position)

    def _count(self, wanted: list[int], until: int) -> None:
        log = self.log
        self._runs = {log.marks[p - log.dropped] & 0xFFFFFF: [] for p in wanted if p - log.dropped < len(log.marks)}
        start = max(log.dropped, wanted[0], until - _WINDOW)
        for at, value in enumerate(log.marks[start - log.dropped : until - log.dropped], start):
            runs = self._runs.get(value & 0xFFFFFF)
            if runs is not None:
                runs.append(at)

    def place(self, statement: Statement) -> Place:
        """A statement's place."""
        key = id(statement)
        if key not in self._places:
            self._places[key] = Place(self.files.show(statement.file), statement.line, statement.function)
        return self._places[key]

    def _read(self, wanted: list[int]) -> None:
        reading = self.log.reading
        if not isinstance(reading, _Reading):
            reading = self._begin(wanted[0])
        known = reading.known(self.files)
        if any(p not in known and reading.before(p, self.log.dropped) is None for p in wanted):
            reading, known = self._begin(wanted[0]), {}
        self.moments = {p: known[p] for p in wanted if p in known}
        new = [p for p in wanted if p not in known]
        while new:
            new = self._read_on(new, reading)
        reading.moments, reading.files = self.moments, self.files

    def _begin(self, first: int) -> _Reading:
        """Reading begins a while before the first mark that is asked for: the frames that are open there are looked up."""
        log = self.log
        start = max(log.dropped, first - _WINDOW)
        frames: list[Frame] = [(s, p) for s, p in reversed(log.stack(start - 1))] if start > log.dropped else []
        reading = self.log.reading = _Reading()
        reading.keep(start, frames or [(None, start)], {})
        return reading

    def _read_on(self, wanted: list[int], reading: _Reading) -> list[int]:
        """Reads as far as the marks lie close enough together; returns those that are left."""
        log = self.log
        state = reading.before(wanted[0], log.dropped)
        assert state is not None
        start, frames, counts = state[0], state[1][:], dict(state[2])
        last = next((a for a, b in pairwise(wanted) if b - a > 2 * _STRIDE), wanted[-1])
        statements, newest = log.statements, reading.states[-1][0]
        k, at = 0, start
        for value in log.marks[start - log.dropped : last - log.dropped + 1]:
            if at >= newest + _STRIDE:
                reading.keep(at, frames, counts)
                newest = at
            i = value & 0xFFFFFF
            statement = statements[i]
            kind = statement.kind
            if kind == ENTRY:
                frames.append((None, at))
            elif kind == END:
                if len(frames) > 1:
                    frames.pop()
            else:
                if kind == LOOP:
                    counts[i] = counts.get(i, 0) + 1
                frames[-1] = statement, at
            if wanted[k] == at:
                self.moments[at] = self._moment(frames, counts)
                k += 1
            at += 1
        while k < len(wanted) and wanted[k] <= last:
            self.moments[wanted[k]] = self._moment(frames, counts)
            k += 1
        return wanted[k:]

    def _moment(self, frames: list[Frame], counts: dict[int, int]) -> Moment:
        stack: list[Any] = []
        loops: list[Any] = []
        for statement, _ in reversed(frames):
            if statement is None:
                continue
            stack.append(self.place(statement))
            for loop in statement.loops:
                s = self.log.statements[loop]
                loops.append(Loop(self.files.show(s.file), s.line, counts.get(loop, 0)))
        return Moment(tuple(stack), tuple(loops))
