# SPDX-License-Identifier: BSD-3-Clause
"""Who calls a function of the project, and with what."""

from __future__ import annotations

import libcst as cst

from ..edit.source import Source
from .flow import calls, simple
from .project import Project

__all__ = ["arguments", "calls_of", "parameters_of"]


def calls_of(project: Project, function: cst.FunctionDef) -> list[tuple[Source, cst.Call]]:
    """The calls of a function, with the files they stand in."""
    found = []
    for source in project.sources:
        for statement in simple(source.module, nested=True):
            if isinstance(statement, cst.SimpleStatementLine):
                found += [(source, c) for c in calls(statement) if any(f is function for _, f in project.callees(c))]
    return found


def arguments(call: cst.Call, parameters: list[str]) -> dict[str, cst.BaseExpression]:
    """What a call gives to each parameter."""
    names = parameters[1:] if parameters[:1] == ["self"] else parameters
    bare = [a.value for a in call.args if a.keyword is None and not a.star]
    given = dict(zip(names, bare, strict=False))
    return given | {a.keyword.value: a.value for a in call.args if a.keyword is not None}


def parameters_of(scope: cst.CSTNode) -> list[str]:
    """The names of a function's parameters."""
    if not isinstance(scope, cst.FunctionDef):
        return []
    given = scope.params
    return [p.name.value for p in (*given.posonly_params, *given.params, *given.kwonly_params)]
