# SPDX-License-Identifier: BSD-3-Clause
"""A forward that the caller ran and handed over as an argument: run where the callee's loop uses it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding
from ._callers import arguments, calls_of, parameters_of
from ._flow import assigned_value, base_of, dotted, names_read, simple, written
from ._hoisted import substituted
from ._moves import readers
from ._project import Project
from ._ways import Way

__all__ = ["into_the_callee"]


def into_the_callee(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """`train(encode(x), n)`: the parameter is computed again in every turn, from what both functions can see."""
    name = base_of(name)
    for source, scope in project.scopes(finding.failed, finding.used, finding.freed):
        if not isinstance(scope, cst.FunctionDef) or finding.failed is None:
            continue
        parameters = parameters_of(scope)
        if name not in parameters:
            continue
        for where, call in calls_of(project, scope):
            given = arguments(call, parameters)
            value = given.get(name)
            caller = where.scope(call)
            known = {n: p for p, v in given.items() if (n := dotted(v)) and p != name}
            if isinstance(value, cst.Name):
                defined = [v for s in simple(where.body(caller)) if (v := assigned_value(s, value.value)) is not None]
                value = defined[-1] if defined else None
            if value is None or where.file != source.file:
                continue
            local = (
                {w for s in simple(where.body(caller)) for w in written(s)}
                if isinstance(caller, cst.FunctionDef)
                else set()
            )
            free = {n for n in names_read(value) if "." not in n and "[" not in n}
            if free & (local - known.keys()):
                continue
            for site in project.sites(source, scope, finding.failed)[-1:]:
                loops = source.loops(site)
                region = source.body(loops[0]) if loops else []
                first = readers(region, {name})
                anchor = source.within(first[0], region) if first else None
                if anchor is not None:
                    way = Way(title=f"Compute `{name}` in every turn", why="it depends on parameters that change")
                    way.patch.insert_before(source, anchor, [f"{name} = {substituted(where.code(value), known)}"])
                    yield way
