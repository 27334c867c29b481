# SPDX-License-Identifier: BSD-3-Clause
"""Segments: the parts of a forward that are computed again one at a time.

What a segment is computed from is held, so a segment should begin where little is passed on. A unit that ran is a
segment. One that is much larger than the others, and a forward without units, is cut where the least is alive: between
two blocks that is what one hands to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from ..recompute.op import MADE, Op, Value

__all__ = ["Way", "cut", "ways"]

_PIECES = (48, 24, 12, 6, 3)
"""Into how many segments a forward without units may be cut: the more, the less room one takes, and the more is held."""
_LEVELS = 3  # parents of units that are tried
_LEAST = 4  # segments that are worth trying
_NEAR = 1.3  # times the least that is alive nearby
_LARGE = 2.5  # times a usual segment: it is cut


class Way(NamedTuple):
    """One way to cut a forward: the segment of each operation, their names, and into how many at most if none has any."""

    segments: list[int]
    names: list[str]
    pieces: int


def ways(segments: list[int], names: list[str]) -> list[Way]:
    """A forward without units can be cut into more or fewer pieces; units inside of larger parts can go together."""
    if not any(names):
        return [Way(segments, names, pieces) for pieces in _PIECES]
    found = [Way(segments, names, _PIECES[0])]
    for level in range(1, _LEVELS + 1):
        merged = _merged(segments, names, level)
        if merged is None:
            break
        if len(merged.names) < len(found[-1].names):
            found.append(merged)
    return found


def _merged(segments: list[int], names: list[str], level: int) -> Way | None:
    """The units' parents, or their parents, instead of them. What lies between two units goes with the first."""
    parents: list[str] = []
    found: list[int] = []
    for segment in segments:
        if names[segment]:
            path = names[segment].split(".")
            if len(path) <= level:
                return None
            parent = ".".join(path[:-level])
            if not parents or parents[-1] != parent:
                parents.append(parent)
        elif not parents:
            parents.append("")
        found.append(len(parents) - 1)
    return Way(found, parents, _PIECES[0]) if len(set(parents)) >= _LEAST else None


def cut(ops: Sequence[Op], names: Sequence[str], most: int = _PIECES[0]) -> list[str]:
    """Gives each operation (and what it makes) its segment. Returns the names of the segments."""
    if not ops:
        return list(names)
    runs = _runs(ops)
    weights = [sum(map(_weight, ops[start:stop])) for start, stop in runs]
    alive = _alive(ops)
    usual = [weight for (start, _), weight in zip(runs, weights, strict=True) if names[ops[start].segment]]
    limit = _LARGE * median(usual) if len(usual) > 2 else max(1.0, sum(weights) / most)
    found: list[str] = []
    for (start, stop), weight in zip(runs, weights, strict=True):
        name = names[ops[start].segment]
        pieces = [start, *(_cuts(ops, alive, start, stop, limit, most) if weight > limit else []), stop]
        for number, (first, last) in enumerate(pairwise(pieces)):
            for op in ops[first:last]:
                op.segment = len(found)
                for cast in op.casts:
                    cast.segment = len(found)
                for value in op.all_made():
                    value.segment = len(found)
            found.append(f"{name}[{number}]" if name and len(pieces) > 2 else name)
    return found


def _runs(ops: Sequence[Op]) -> list[tuple[int, int]]:
    """Ranges of operations that belong to one run of a unit, or lie between two."""
    borders = [0, *(i for i in range(1, len(ops)) if ops[i].segment != ops[i - 1].segment), len(ops)]
    return list(pairwise(borders))


def _weight(op: Op) -> int:
    return sum(value.nbytes for value in op.all_made() if value.tokens)


def _alive(ops: Sequence[Op]) -> list[int]:
    """Bytes that are passed on into each operation and those after it: made before, and read by one of them."""
    made = {value: place for place, op in enumerate(ops) for value in op.made()}
    last: dict[Value, int] = {}
    for place, op in enumerate(ops):
        for value in op.needs():
            last[value] = place
    change = [0] * (len(ops) + 1)
    for value, place in made.items():
        if value.kind is MADE and last.get(value, place) > place:
            change[place + 1] += value.nbytes
            change[last[value] + 1] -= value.nbytes
    total, found = 0, []
    for size in change:
        total += size
        found.append(total)
    return found


def _cuts(ops: Sequence[Op], alive: Sequence[int], start: int, stop: int, limit: float, most: int) -> list[int]:
    """Where to cut a range of operations, so that no piece is larger than the limit, if that can be had."""
    found: list[int] = []
    weight = 0
    best: int | None = None
    window = max(8, (stop - start) // most)
    for place in range(start + 1, stop):
        weight += _weight(ops[place - 1])
        near = min(alive[max(start + 1, place - window) : min(stop, place + window)], default=0)
        if alive[place] <= _NEAR * near and weight >= limit / 4:
            best = place
        if weight >= limit / 2 and best is not None:
            weight = sum(map(_weight, ops[best:place]))
            found.append(best)
            best = None
    return found
