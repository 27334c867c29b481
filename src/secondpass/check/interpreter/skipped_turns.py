# SPDX-License-Identifier: BSD-3-Clause
"""Leaving out turns of a loop, to get to those in which something happens for the first time.

NOTE [ Turns that are left out ]
1. A loop that has been looked at long enough goes on where a condition on counters changes for the first time
   (`if step % 50 == 0`, `if step > 200`), and with its last turn, if a branch that was not taken yet does something.
2. The turns between are like those before them, but for the counters, which are moved on; and what comes back at
   regular intervals comes back once more before each turn that is looked at. Where it puts history into something that
   outlives the turn (`if step % 50 == 0: kept.append(loss)`), it is gone from one such turn to the next: whether it grows
   shows only there.
3. What is silent is not judged by these turns, but for what was seen to grow time after time: see NOTE [ What comes later ]
   of `unfinished_loops`.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from .machine import Loop, Machine

__all__ = ["Compared", "Counter", "counted", "jumps", "open_loops"]

FURTHEST = 100_000
_FAR = 1e15
"""Numbers further apart than this do not meet, and may be too large to divide."""
MOST = 12
"""Turns that are looked at after some were left out."""
GROWS = 7
"""How often something is put into a list before it is known to grow."""
COSTLY = 5_000
"""Steps of reading after which a loop is not gone on with."""

_OPERATORS: dict[type, Any] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


class Moving:
    """Two numbers that are compared, as they are in two turns of a loop that follow each other."""

    __slots__ = ("_act", "_before", "_modulus", "_now", "_turn")

    def __init__(self, op: ast.cmpop) -> None:
        self._act = _OPERATORS.get(type(op))
        self._turn = 0
        self._before: tuple[Any, Any] | None = None
        self._now: tuple[Any, Any] = (0, 0)
        self._modulus = 0

    def note(self, turn: int, left: Any, right: Any, modulus: int) -> None:
        """Takes the numbers of this turn; `left` may be a remainder."""
        if turn != self._turn:
            self._before = self._now if turn == self._turn + 1 else None
        self._turn, self._now, self._modulus = turn, (left, right), modulus

    def _at(self, distance: int) -> bool:
        """What the comparison gives so many turns after the last one."""
        (left, right), (left_before, right_before) = self._now, self._before or self._now
        left += distance * (left - left_before)
        right += distance * (right - right_before)
        return bool(self._act(left % self._modulus if self._modulus else left, right))  # type: ignore[misc]

    def change(self) -> int | None:
        """After how many turns it first gives something else."""
        if self._act is None or self._before is None:
            return None
        if self._modulus:
            near = range(1, min(self._modulus, FURTHEST) + 1)
        else:
            apart = self._now[1] - self._now[0]
            speed = apart - (self._before[1] - self._before[0])
            if not speed or abs(apart) > _FAR or not math.isfinite(apart / speed):
                return None
            whole = math.floor(-apart / speed)
            near = range(max(1, whole - 1), min(whole + 2, FURTHEST) + 1)
        return next((d for d in near if self._at(d) != self._at(0)), None)

    def last(self, distance: int) -> int | None:
        """Where something that comes back at regular intervals comes last before a distance."""
        if self._act is None or self._before is None or not self._modulus:
            return None
        first = max(0, distance - 1 - min(self._modulus, FURTHEST))
        return next((d for d in range(distance - 1, first, -1) if self._at(d)), None)


class Compared:
    """A comparison of numbers inside loops that will be cut short."""

    __slots__ = ("_answers", "_first", "_loops", "moves", "op")

    def __init__(self, op: ast.cmpop) -> None:
        self.op = op
        self._first: tuple[Any, Any] | None = None
        self.moves = False
        """Whether the numbers were ever others than the first time."""
        self._loops: dict[Loop, Moving] = {}
        self._answers: set[bool] = set()
        """What it gave before turns were left out."""

    def note(self, loops: list[Loop], left: Any, right: Any, modulus: int) -> None:
        """Takes the numbers of the turns that these loops are at."""
        self._first = self._first or (left, right)
        self.moves = self.moves or self._first != (left, right)
        self._loops = {loop: self._loops.get(loop) or Moving(self.op) for loop in loops}
        for loop, moving in self._loops.items():
            moving.note(loop.turn, left, right, modulus)
        act = _OPERATORS.get(type(self.op))
        if act is not None and not any(loop.jumped for loop in loops):
            self._answers.add(bool(act(left, right)))

    @property
    def regular(self) -> bool:
        """Whether it has been seen to give both answers."""
        return len(self._answers) > 1

    def within(self, loop: Loop) -> Moving | None:
        """How its numbers move from turn to turn of a loop."""
        return self._loops.get(loop)


class Counter:
    """An iterator over numbers, or numbered items, that can leave some out."""

    __slots__ = ("_at", "_items", "_numbers", "_size")

    def __init__(self, numbers: range, items: Iterator[Any] | None = None, size: int | None = None) -> None:
        self._numbers = numbers
        self._items = items
        self._size = len(numbers) if items is None else size
        self._at = 0

    def __iter__(self) -> Counter:
        return self

    def __next__(self) -> Any:
        if self._at >= len(self._numbers):
            raise StopIteration
        number = self._numbers[self._at]
        found = number if self._items is None else (number, next(self._items))
        self._at += 1
        return found

    def skip(self, count: int) -> None:
        """Leaves out some."""
        self._at += count

    def left(self) -> int | None:
        """How many are to come, where it can be told."""
        return None if self._size is None else self._size - self._at


def open_loops(m: Machine) -> list[Loop]:
    """The loops that will be cut short, innermost first."""
    return [loop for f in reversed(m.frames) for loop in reversed(f.loops) if not loop.whole]


def counted(m: Machine, box: dict[Any, Any], name: Any, old: Any, new: Any) -> None:
    """Notes that a number was changed in a turn of loops that will be cut short."""
    if type(old) is not int or type(new) is not int:
        return
    for loop in open_loops(m):
        known = loop.counters.get((id(box), name))
        change = known[3] if known is not None and known[2] == loop.turn else 0
        loop.counters[id(box), name] = (box, name, loop.turn, change + new - old)


def jumps(m: Machine, loop: Loop, source: Any = None) -> Iterator[int]:
    """How many turns to leave out before each further turn that is worth looking at; moves the counters on."""
    done: set[Moving] = set()
    looked, ran = 0, len(m.ran)
    try:
        while positions := _positions(m, loop, source, done):
            before = 0
            for position in positions:
                if looked == MOST or m.steps - loop.began > COSTLY:
                    return
                loop.jumped = True
                count = position - before - 1
                if isinstance(source, Counter):
                    source.skip(count)
                for box, name, turn, change in loop.counters.values():
                    if turn == loop.turn and type(box.get(name)) is int:
                        box[name] += count * change
                before, looked = position, looked + 1
                yield count
    finally:
        m.late.update((file, line) for file, line, _ in islice(m.ran, ran, None))


def _positions(m: Machine, loop: Loop, source: Any, done: set[Moving]) -> list[int]:
    """How many turns after the last one those are that are worth looking at, in order.

    Comparisons that have changed once are `done`. The last turn of all comes when there are no others.
    """
    inside = [d.node for d in m.decided.values() if loop in d.loops and not d.asked]
    inside = [n for n in inside if m.project.matters(n) or "append" in m.project.calls(n)]
    untaken = [node for node in inside if len(m.decided[id(node)].answers) == 1]
    gathering = [d.node for d in m.decided.values() if loop in d.loops and 0 < d.gathers < GROWS]
    if not untaken and not gathering:
        return []
    regular = _moving((c for c in m.compared.values() if c.regular), loop)
    # Where a condition compares nothing itself (`due(step)`, `is_last`), it may be anything that is compared.
    own = [c for node in untaken for c in _moving(_compared(m, node), loop)]
    own = own or (_moving(m.compared.values(), loop) if untaken else [])
    left = source.left() if isinstance(source, Counter) else None
    found: set[int] = set()
    for moving in (c for node in gathering for c in _moving(_compared(m, node), loop)):
        change = moving.change()
        if change is not None and (left is None or change < left):
            found |= {change, change + 1}
    for moving in own:
        change = moving.change() if moving not in done else None
        if change is not None and (left is None or change <= left):
            done.add(moving)
            found |= {change, change + 1}
    found = found or ({left} if left and untaken else set())
    found |= {x for f in found for c in regular if (x := c.last(f)) is not None}
    return sorted(found)


def _compared(m: Machine, node: ast.If) -> Iterator[Compared]:
    """The comparisons of a condition."""
    return (m.compared[id(n)] for n in (node, *ast.walk(node.test)) if id(n) in m.compared)


def _moving(compared: Iterable[Compared], loop: Loop) -> list[Moving]:
    return [moving for c in compared if (moving := c.within(loop)) is not None]
