# SPDX-License-Identifier: BSD-3-Clause
"""The executed statements since some moment, as calls within calls: what the log says, with the source beside it."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from ..causes._source import Source, assigned
from ..record import Place
from .files import Files
from .lines import END, ENTRY, STATEMENT, Log, Statement

__all__ = ["Call", "Executed", "executed"]

_LIMIT = 60_000


@dataclass(eq=False, slots=True)
class Executed:
    """One statement that ran."""

    statement: Statement
    node: ast.stmt
    call: Call
    began: int
    """The number that the next node had when it began."""
    ended: int
    """The same when it ended."""
    inner: list[Call] = field(default_factory=list)
    """The user's functions that it called."""
    position: int = 0

    @property
    def built(self) -> bool:
        """Whether nodes were recorded while it ran."""
        return self.ended > self.began

    @property
    def built_itself(self) -> bool:
        """Whether nodes were recorded outside the functions that it called."""
        return self.ended - self.began > sum(c.ended - c.began for c in self.inner)


@dataclass(eq=False, slots=True)
class Call:
    """One run of a function."""

    caller: Executed | None
    began: int
    ended: int = 0
    body: list[Executed] = field(default_factory=list)

    def returned(self) -> Executed | None:
        """The return statement that ended it."""
        last = self.body[-1] if self.body else None
        return last if last is not None and isinstance(last.node, ast.Return) else None


@cache
def source(file: str) -> Source | None:
    """A file, parsed."""
    try:
        return Source(ast.parse("".join(linecache.getlines(file))))
    except (SyntaxError, ValueError, RecursionError):
        return None


def executed(log: Log, start: int, end: int, number: int) -> Call:
    """What ran between two positions; `number` is what the next node had at the end."""
    end -= log.dropped
    first = max(0, start - log.dropped, end - _LIMIT)
    marks = log.marks[first:end]
    root = Call(None, (marks[0] >> 24) if len(marks) else number)
    call = root
    nodes: dict[int, ast.stmt | None] = {}
    for k, value in enumerate(marks):
        at, statement = value >> 24, log.statements[value & 0xFFFFFF]
        if call.body:
            call.body[-1].ended = at
        if statement.kind == ENTRY:
            caller = call.body[-1] if call.body else None
            call = Call(caller, at)
            if caller is not None:
                caller.inner.append(call)
        elif statement.kind == END:
            call.ended = at
            call = call.caller.call if call.caller is not None else root
        elif statement.kind == STATEMENT:
            i = value & 0xFFFFFF
            if i not in nodes:
                tree = source(statement.file)
                nodes[i] = tree.statement(statement.line) if tree is not None else None
            node = nodes[i]
            if node is not None:
                call.body.append(Executed(statement, node, call, at, at, position=first + log.dropped + k))
    while True:
        call.ended = number
        if call.body:
            call.body[-1].ended = number
        if call.caller is None:
            return root
        call = call.caller.call


def place_of(one: Executed, files: Files) -> Place:
    """Where a statement stands."""
    return Place(files.show(one.statement.file), one.statement.line, one.statement.function)


def backwards(call: Call) -> Iterator[Executed]:
    """Everything that ran, last first, callees after what they ran in."""
    for one in reversed(call.body):
        yield one
        for inner in reversed(one.inner):
            yield from backwards(inner)


def defines(one: Executed, name: str) -> bool:
    """Whether a statement assigns a name."""
    return any(ast.unparse(t) == name for t in assigned(one.node))
