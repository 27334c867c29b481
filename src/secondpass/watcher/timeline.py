# SPDX-License-Identifier: BSD-3-Clause
"""Places, stacks and loop counts for many positions of the log at once, in one forward reading."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..record import Loop, Place
from .files import Files
from .log import END, ENTRY, LOOP, Log, Statement

__all__ = ["Moment", "Timeline"]

_WINDOW = 600_000


@dataclass(frozen=True, slots=True)
class Moment:
    """Where the program stood at one position."""

    stack: tuple[Place, ...]
    loops: tuple[Loop, ...]
    begun: int
    """The position at which the innermost statement began."""


class Timeline:
    """Reads the log once for all the positions asked for."""

    def __init__(self, log: Log, files: Files, positions: Iterable[int], until: int = 0) -> None:
        self.log, self.files = log, files
        self.moments: dict[int, Moment] = {}
        self._runs: dict[int, list[int]] = {}
        """Positions of the marks of some statements, as far as `until`."""
        self._places: dict[int, Place] = {}
        wanted = sorted({p for p in positions if p >= log.dropped})
        if wanted:
            self._read(wanted)
            self._count(wanted, max(until, wanted[-1] + 1))

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
        log = self.log
        start = max(log.dropped, wanted[0] - _WINDOW)
        # The frames that were open at the start of the window, outermost first: [statement, position].
        frames: list[list[object]] = [[s, p] for s, p in reversed(log.stack(start - 1))] if start > log.dropped else []
        frames = frames or [[None, start]]
        counts: dict[int, int] = {}
        statements = log.statements
        k, at = 0, start
        for value in log.marks[start - log.dropped : wanted[-1] - log.dropped + 1]:
            i = value & 0xFFFFFF
            statement = statements[i]
            kind = statement.kind
            if kind == ENTRY:
                frames.append([None, at])
            elif kind == END:
                if len(frames) > 1:
                    frames.pop()
            else:
                if kind == LOOP:
                    counts[i] = counts.get(i, 0) + 1
                frames[-1][0], frames[-1][1] = statement, at
            while k < len(wanted) and wanted[k] == at:
                self.moments[at] = self._moment(frames, counts)
                k += 1
            at += 1
        while k < len(wanted):
            self.moments[wanted[k]] = self._moment(frames, counts)
            k += 1

    def _moment(self, frames: list[list[object]], counts: dict[int, int]) -> Moment:
        stack: list[Any] = []
        loops: list[Any] = []
        begun = 0
        for statement, position in reversed(frames):
            if not isinstance(statement, Statement):
                continue
            if not stack:
                begun = position if isinstance(position, int) else 0
            stack.append(self.place(statement))
            for loop in statement.loops:
                s = self.log.statements[loop]
                loops.append(Loop(self.files.show(s.file), s.line, counts.get(loop, 0)))
        return Moment(tuple(stack), tuple(loops), begun)
