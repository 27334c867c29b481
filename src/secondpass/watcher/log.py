# SPDX-License-Identifier: BSD-3-Clause
"""The log of executed statements: which line of the user's built which node.

The loader puts `mark(i)` before every statement of the user's files (and at the end of every function). A mark is one
integer: the number the next node will get, and the statement. That is all that happens while the program runs; lines,
call stacks and loop counts are worked out from the log when somebody asks. The oldest marks are dropped.

NOTE [ Reading the log ]
1. Marks are in the order of execution and, within the main thread, their node numbers never fall. So the statement that
   built node n is the last mark whose number is <= n.
2. A function that is no generator marks its entry and its end. Between a function's end and the next mark of the
   caller,
   work belongs to the statement that made the call: walking back from an end, skip to its entry.
3. A loop's first body statement is preceded by a mark of the loop itself: counting those counts iterations.
4. Only the main thread writes. Nodes that other threads build have no line here.
5. Nothing runs without end but through loops and calls: only their marks see to it that the log is bounded.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["END", "ENTER", "ENTRY", "LOOP", "MARK", "STATEMENT", "Log", "Statement"]

STATEMENT, ENTRY, END, LOOP = range(4)
_BITS = 24
_MASK = (1 << _BITS) - 1
_KEEP = 2_000_000
_SCAN = 400_000


MARK, ENTER = "_sp_mark", "_sp_enter"
"""What the marks of statements are called in the user's files, and those of functions and loops (with the mark of the
first statement in them, or 0)."""


class _Drop:
    """`log.drop`; elsewhere (see `_Marks`), nothing."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def __call__(self) -> None:
        self._log.drop()

    def __reduce__(self) -> Any:
        return int, ()


@dataclass(frozen=True, slots=True)
class Statement:
    """What a mark stands for."""

    kind: int
    file: str
    line: int
    function: str
    loops: tuple[int, ...] = ()
    """Marks of the loops around it within its function, innermost first."""
    column: int = 0


class _Marks(array):  # type: ignore[type-arg]
    """The marks. Libraries that send functions elsewhere by value take `mark` along, but not what it has written."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return deque, ((), 0)


def _unless(compiling: Callable[[], bool], ident: Callable[[], int]) -> Callable[[], int]:
    def unless_compiling() -> int:
        return 0 if compiling() else ident()

    return unless_compiling


class Log:
    """The marks of one run."""

    def __init__(self, peek: Callable[[], int] | None = None) -> None:
        self.statements: list[Statement] = []
        self.marks = _Marks("Q")
        self.dropped = 0
        self.live = False
        """Whether marks were laid in a program that was already running: some of its frames have none."""
        self.reading: object = None
        """How far a timeline has read it."""
        self._ident: Callable[[], int] = threading.get_ident
        self.mark, self.enter = self._markers()
        self.names = {MARK: self.mark, ENTER: self.enter}
        self.listen(peek or int)  # `int()` is 0: no node yet

    def _markers(self) -> tuple[Callable[[int], None], Callable[[int, int], None]]:
        # Defaults, not names from outside: each look-up saved is time that the user's statements do not pay.
        def mark(i: int, ident: Any = None, main: Any = None, append: Any = None, peek: Any = None) -> None:
            if ident() == main:
                append(peek() << 24 | i)

        def enter(
            i: int, j: int, ident: Any = None, main: Any = None, append: Any = None, peek: Any = None,
            size: Any = None, limit: Any = None, drop: Any = None,
        ) -> None:  # fmt: skip
            if ident() == main:
                number = peek() << 24
                append(number | i)
                if j:
                    append(number | j)
                if size() > limit:
                    drop()

        return mark, enter

    def listen(self, peek: Callable[[], int]) -> None:
        """Says where node numbers come from: known only once torch is imported, while marks are laid before."""
        write = (self._ident, threading.main_thread().ident, self.marks.append, peek)
        self.mark.__defaults__ = write
        self.enter.__defaults__ = (*write, self.marks.__len__, 2 * _KEEP, _Drop(self))

    def mute(self) -> None:
        """Nobody listens: marks that are still met write nothing."""
        self.mark.__defaults__ = (self._ident, None, *self.mark.__defaults__[2:])  # type: ignore[index]
        self.enter.__defaults__ = (self._ident, None, *self.enter.__defaults__[2:])  # type: ignore[index]

    def hide_from_dynamo(self, compiling: Callable[[], bool]) -> None:
        """For versions of torch.compile that cannot be told to step over marks: no thread is the main one to them."""
        self._ident = _unless(compiling, threading.get_ident)
        for marker in (self.mark, self.enter):
            marker.__defaults__ = (self._ident, *marker.__defaults__[1:])  # type: ignore[index]

    def drop(self) -> None:
        """Forgets the older half."""
        self.dropped += len(self.marks) - _KEEP
        del self.marks[:-_KEEP]

    def add(self, statement: Statement) -> int:
        """Makes a mark for a statement."""
        self.statements.append(statement)
        return len(self.statements) - 1

    def position(self) -> int:
        """Where the log stands."""
        return len(self.marks) + self.dropped

    def find(self, number: int) -> int | None:
        """The position of the mark under which a node was built."""
        at = bisect_right(self.marks, (number + 1) << _BITS | 0) - 1
        # A mark with exactly this number and index 0 would sort at the bound itself: it belongs to the next node.
        while at >= 0 and self.marks[at] >> _BITS > number:
            at -= 1
        return at + self.dropped if at >= 0 else None

    def number(self, position: int) -> int:
        """The number that the next node had when a mark was made."""
        return int(self.marks[position - self.dropped]) >> _BITS

    def statement(self, position: int) -> Statement:
        """The statement of a mark."""
        return self.statements[int(self.marks[position - self.dropped]) & _MASK]

    def stack(self, position: int) -> list[tuple[Statement, int]]:
        """The statements under way at a mark, innermost first, each with the position at which it began."""
        found: list[tuple[Statement, int]] = []
        depth, at = 0, position - self.dropped
        stop = max(-1, at - _SCAN)
        wanted = True
        while at > stop:
            statement = self.statements[self.marks[at] & _MASK]
            if statement.kind == END:
                depth += 1
            elif statement.kind == ENTRY:
                if depth:
                    depth -= 1
                else:
                    wanted = True
            elif not depth and wanted and (statement.kind == STATEMENT or statement.kind == LOOP):
                found.append((statement, at + self.dropped))
                wanted = False
            at -= 1
        return found

    def between(self, start: int, end: int) -> list[tuple[int, Statement]]:
        """The statements begun in a stretch of the log, with their positions."""
        first = max(0, start - self.dropped)
        return [
            (first + k + self.dropped, s)
            for k, value in enumerate(self.marks[first : max(0, end - self.dropped)])
            if (s := self.statements[value & _MASK]).kind == STATEMENT
        ]
