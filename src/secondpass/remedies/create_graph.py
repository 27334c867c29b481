# SPDX-License-Identifier: BSD-3-Clause
"""create-graph: the gradient itself gets a history."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Remedy
from .edit.source import Source
from .find.flow import dotted, simple
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
    yield from ((s, c) for s, statement in here for c in pass_calls(statement) if _is_grad(c))
    for source in project.sources:
        for statement in simple(source.module, nested=True):
            if isinstance(statement, cst.SimpleStatementLine):
                yield from ((source, c) for c in pass_calls(statement) if _is_grad(c))
    yield from ((s, c) for s, statement in here[:1] for c in pass_calls(statement))


def _is_grad(call: cst.Call) -> bool:
    return (dotted(call.func) or "").rsplit(".", 1)[-1] == "grad"


def _has(call: cst.Call) -> bool:
    return any(a.keyword and a.keyword.value == "create_graph" and dotted(a.value) == "True" for a in call.args)
