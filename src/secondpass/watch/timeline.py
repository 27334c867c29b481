# SPDX-License-Identifier: BSD-3-Clause
"""Places, stacks and loop counts for many positions of the log at once, in one forward reading."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..record import Loop, Place
from .files import Files
from .lines import END, ENTRY, LOOP, Log, Statement

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

    def __init__(self, log: Log, files: Files, positions: Iterable[int]) -> None:
        self.log, self.files = log, files
        self.moments: dict[int, Moment] = {}
        self._places: dict[int, Place] = {}
        wanted = sorted({p for p in positions if p >= log.dropped})
        if wanted:
            self._read(wanted)

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
        stack, loops = [], []
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
