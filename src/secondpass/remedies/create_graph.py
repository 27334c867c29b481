# SPDX-License-Identifier: BSD-3-Clause
"""create-graph: the gradient itself gets a history."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import libcst as cst

from ..record import Finding, Place, Remedy
from .edit.source import Source
from .find.flow import calls, dotted, simple
from .find.project import Project
from .proposal import Way
from .rewrite.arguments import pass_calls, set_argument

__all__ = ["propose"]

_WHY = "a gradient that is differentiated again needs a history; `retain_graph` alone would make it a constant"


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Sets `create_graph=True` on the gradient call."""
    seen: set[int] = set()
    for source, call in _calls(finding, remedy, project):
        if id(call) in seen or _has(call):
            continue
        seen.add(id(call))
        way = Way(title="Compute the gradient with `create_graph=True`", safe=True, why=_WHY)
        set_argument(way.patch, source, call, "create_graph", "True")
        yield way


def _calls(finding: Finding, remedy: Remedy, project: Project) -> Iterator[tuple[Source, cst.Call]]:
    """Gradient calls: at a known place, then all `grad` calls of the program, then a `backward` at the place."""
    here = [found for p in (remedy.place, finding.freed, finding.built, finding.failed) if (found := project.at(p))]
    grads = [(s, c) for s, statement in here for c in pass_calls(statement) if _is_grad(c)]
    if any(a.star == "**" for _, c in grads for a in c.args):
        yield from _handed_on(finding, project)  # the arguments are the caller's
        return
    yield from grads
    for source in project.sources:
        for statement in simple(source.module, nested=True):
            if isinstance(statement, cst.SimpleStatementLine):
                yield from ((source, c) for c in pass_calls(statement) if _is_grad(c))
    yield from ((s, c) for s, statement in here[:1] for c in pass_calls(statement))


def _handed_on(finding: Finding, project: Project) -> Iterator[tuple[Source, cst.Call]]:
    """The calls of a function, further out in the pass's stack, that hand it what it hands on."""
    stack = [Place(**p) for p in finding.facts.get("freed_stack") or ()]
    for inner, outer in pairwise(stack):
        here = project.at(outer)
        own = [f for s in project.sources if s.file == inner.file for f in s.functions if _is_in(s, f, inner)]
        for call in calls(here[1]) if here else ():
            if here and any(f is function for _, f in project.callees(call) for function in own):
                yield here[0], call
                return


def _is_in(source: Source, function: cst.FunctionDef, place: Place) -> bool:
    statement = source.at(place.line)
    return statement is not None and source.scope(statement) is function


def _is_grad(call: cst.Call) -> bool:
    return (dotted(call.func) or "").rsplit(".", 1)[-1] == "grad"


def _has(call: cst.Call) -> bool:
    return any(a.keyword and a.keyword.value == "create_graph" and dotted(a.value) == "True" for a in call.args)
