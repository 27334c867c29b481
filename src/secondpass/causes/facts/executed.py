# SPDX-License-Identifier: BSD-3-Clause
"""The statements that ran, as calls within calls, with the source beside them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...record import Place, Trace
from ...source import Source, assigned
from .lines import source_of

__all__ = ["Call", "Run", "calls_in", "ran", "recorded"]


@dataclass(eq=False, slots=True)
class Run:
    """One statement that ran."""

    place: Place
    node: ast.stmt
    source: Source
    call: Call = field(repr=False)
    began: int
    """The number that the next node had when it began."""
    ended: int
    position: int
    inner: list[Call] = field(default_factory=list, repr=False)
    """The user's functions that it called."""

    @property
    def built(self) -> bool:
        """Whether nodes were recorded while it ran."""
        return self.ended > self.began

    @property
    def built_itself(self) -> bool:
        """Whether nodes were recorded outside the functions that it called."""
        return self.ended - self.began > sum(c.ended - c.began for c in self.inner)

    @property
    def own(self) -> set[int]:
        """The nodes that were recorded outside the functions that it called."""
        return set(range(self.began, self.ended)).difference(*(range(c.began, c.ended) for c in self.inner))

    @property
    def targets(self) -> list[str]:
        return [ast.unparse(t) for t in assigned(self.node)]


@dataclass(eq=False, slots=True)
class Call:
    """One run of a function."""

    caller: Run | None
    body: list[Run] = field(default_factory=list)

    @property
    def began(self) -> int:
        return self.body[0].began if self.body else 0

    @property
    def ended(self) -> int:
        return self.body[-1].ended if self.body else 0

    def returned(self) -> Run | None:
        """The return statement that ended it."""
        last = self.body[-1] if self.body else None
        return last if last is not None and isinstance(last.node, ast.Return) else None


def ran(trace: Trace) -> list[Run]:
    """What a trace says was executed, in order; statements whose source cannot be read are left out."""
    found: dict[int, Run] = {}
    calls: dict[int, Call] = {}
    for k, one in enumerate(trace.executed or ()):
        source = source_of(trace, one.place)
        stmt = source.statement(one.place.line, one.column) if source is not None else None
        if source is None or stmt is None:
            continue
        call = calls.get(one.call)
        if call is None:
            caller = found.get(one.caller) if one.caller is not None else None
            call = calls[one.call] = Call(caller)
            if caller is not None:
                caller.inner.append(call)
        run = Run(one.place, stmt, source, call, one.began, one.ended, k)
        call.body.append(run)
        found[k] = run
    return list(found.values())


def calls_in(runs: list[Run]) -> Iterator[Call]:
    """The calls of some statements, each once."""
    seen: set[int] = set()
    for run in runs:
        if id(run.call) not in seen:
            seen.add(id(run.call))
            yield run.call


def recorded(runs: list[Run], number: int) -> Run | None:
    """The statement that recorded a node: the innermost one."""
    return next((r for r in reversed(runs) if r.began <= number < r.ended and number in r.own), None)
