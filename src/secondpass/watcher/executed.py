# SPDX-License-Identifier: BSD-3-Clause
"""The statements that ran in a stretch of the log, each with the nodes that were recorded meanwhile and the call it is in."""

from __future__ import annotations

from dataclasses import dataclass

from ..record import Executed, Place
from .files import Files
from .log import END, ENTRY, STATEMENT, Log

__all__ = ["executed"]

_LIMIT = 60_000


@dataclass(slots=True)
class _Begun:
    place: Place
    began: int
    ended: int
    call: int
    caller: int | None
    column: int


def executed(log: Log, files: Files, start: int, end: int, number: int) -> tuple[Executed, ...]:
    """What ran between two positions, the last so many at most; `number` is what the next node had at the end."""
    end -= log.dropped
    first = max(0, start - log.dropped, end - _LIMIT)
    marks = log.marks[first:end]
    found: list[_Begun] = []
    # Of every call under way: its number, the statement that made it, the statement that it is at.
    calls: list[list[int | None]] = [[0, None, None]]
    made = 0
    places: dict[int, Place] = {}
    for value in marks:
        at, i = value >> 24, value & 0xFFFFFF
        statement = log.statements[i]
        now = calls[-1][2]
        if statement.kind == ENTRY:
            made += 1
            calls.append([made, now, None])
            continue
        if now is not None:
            found[now].ended = at
        if statement.kind == END:
            if len(calls) > 1:
                calls.pop()
            else:  # a call that had begun before the stretch: what follows is its caller's
                made += 1
                calls[-1] = [made, None, None]
        elif statement.kind == STATEMENT:
            if i not in places:
                places[i] = Place(files.show(statement.file), statement.line, statement.function)
            call, caller, _ = calls[-1]
            calls[-1][2] = len(found)
            found.append(_Begun(places[i], at, at, call or 0, caller, statement.column))
    for _, _, now in calls:
        if now is not None:
            found[now].ended = number
    return tuple(Executed(b.place, b.began, b.ended, b.call, b.caller, b.column) for b in found)
