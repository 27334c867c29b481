# SPDX-License-Identifier: BSD-3-Clause
"""Where a state that is carried on begins: a value that every sequence begins with is trained there."""

from __future__ import annotations

from .lines import source_of, sources_of
from .meeting import Meeting
from .operations import is_linear

__all__ = ["untrained"]


def _begins_anew(meeting: Meeting, name: str) -> bool:
    """Whether what a name carries begins anew from time to time: outside the loop that carries it on, but within another
    one, or in a method that is there for it."""
    loops, loop = meeting.used.loops or (), meeting.crossed or meeting.advanced
    inner = next((k for k, x in enumerate(loops) if loop and (x.file, x.line) == (loop.file, loop.line)), None)
    if inner is None or loop is None or inner + 1 >= len(loops):
        return False
    if "." in name:
        own = f"self.{name.rpartition('.')[2]}"
        built = {p.function.rpartition(".")[2] for p in meeting.entry.stack}
        written = [s.function_name(a.lineno) for _, s in sources_of(meeting.trace) for a in s.writes(own)]
        return any(f not in built and f != "__init__" for f in written)
    for place in meeting.used.stack:
        source = source_of(meeting.trace, place) if place.file == loop.file else None
        if source is None or source.function(place.line) is not source.function(loop.line):
            continue
        around, body = source.function(loop.line), source.statement(loop.line)
        end = body.end_lineno if body is not None and body.end_lineno is not None else loop.line
        lines = [a.lineno for a in source.writes(name) if source.function(a.lineno) is around]
        return any(not loop.line < n <= end for n in lines)
    return False


def untrained(meeting: Meeting, name: str) -> set[int]:
    """The leaves that would not be trained any more if what a name carries were cut: only it leads to them, and neither does every
    sequence begin with them, nor were they seen to be used in every turn (for the pass of the next)."""
    if meeting.only_way:
        return meeting.alone
    seen = {n.place for n in meeting.new if n.place is not None}
    anew = _begins_anew(meeting, name)
    found = set[int]()
    for n in meeting.walked.values():
        later = bool(n.again) and n.place not in seen
        # What a network was asked for before the loop is not what a sequence begins with.
        if not later and not (anew and (is_linear(n) or n.place in seen)):
            found.update(n.parents or ())
    return meeting.alone & found
