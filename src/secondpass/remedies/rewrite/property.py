# SPDX-License-Identifier: BSD-3-Clause
"""An attribute that a method computes once, and that others read: a property, computed when it is read."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..edit.source import Source, walk
from ..find.callers import parameters_of
from ..find.flow import assigned_value, base_of, history_slice, names_read, simple, written
from ..find.project import Project
from ..proposal import Way
from .hoisted import can_keep, known_as, substituted
from .moves import lines_of, makes_leaf, movable

__all__ = ["as_property", "computed_attribute"]


def computed_attribute(project: Project, name: str) -> tuple[Source, cst.FunctionDef, cst.SimpleStatementLine] | None:
    """The one statement that computes an attribute with history: where it stands, and it."""
    own = "self." + base_of(name).rpartition(".")[2]
    if "." not in base_of(name):
        return None
    found = [
        (source, function, s)
        for source in project.sources
        for function in source.functions
        for s in simple(source.body(function))
        if own in written(s) and isinstance(s, cst.SimpleStatementLine)
    ]
    if len(found) != 1:
        return None
    source, function, statement = found[0]
    value = assigned_value(statement, own)
    if (
        value is None
        or isinstance(value, cst.Tuple)
        or source.loops(statement)
        or makes_leaf(project, source, statement)
    ):
        return None
    tracked = project.tracked(source, function)
    return found[0] if project.gives_history(value, tracked) or _method_gives(project, value) else None


def _method_gives(project: Project, value: cst.BaseExpression) -> bool:
    """Whether an expression is a call of a method that returns something with history: `self.normalised()`."""
    for where, method in project.callees(value) if isinstance(value, cst.Call) else ():
        tracked = project.tracked(where, method)
        returned = [n.value for n in walk(method) if isinstance(n, cst.Return) and n.value is not None]
        if where.class_of(method) is not None and any(project.gives_history(r, tracked) for r in returned):
            return True
    return False


def as_property(name: str, project: Project) -> Iterator[Way]:
    """`self.table = f(self.weight)` in a method becomes `def table(self): return f(self.weight)`."""
    home = computed_attribute(project, name)
    if home is None:
        return
    source, function, statement = home
    own = "self." + base_of(name).rpartition(".")[2]
    body = source.body(function)
    chosen = history_slice(source, statement, names_read(statement) - {own}, project.tracked(source, function), body)
    chosen = [s for s in chosen if not makes_leaf(project, source, s) and not any("." in w for w in written(s))]
    known = known_as(source, function)
    local = {w for s in chosen for w in written(s)}
    free = {n for s in [*chosen, statement] for n in names_read(s) if "." not in n and "[" not in n} - local
    given = {w for s in simple(body) for w in written(s)} | set(parameters_of(function))
    kept = sorted(n for n in free if n in given and n != "self" and n not in known)
    if kept and not can_keep(source, function, own, kept):
        return
    known |= {n: f"self.{n}" for n in kept}
    value = assigned_value(statement, own)
    lines = [substituted(line, known) for s in chosen for line in lines_of(source, s)]
    result = substituted(f"return {source.code(value)}", known)  # type: ignore[arg-type]
    way = Way(title=f"Compute `{own}` whenever it is read", safe=True)
    way.why = "it depends on parameters that every step changes"
    head = ["", "@property", f"def {own.removeprefix('self.')}(self):"]
    way.patch.insert_after(source, function, [*head, *(f"    {line}" for line in [*lines, *result.splitlines()])])
    gone = [s for s in movable(source, [*chosen, statement], body, (0, len(source.text))) if s is not statement]
    removed = sorted([*gone, statement], key=source.order)
    if kept:
        indent, newline = source.indent(removed[0]), source.newline
        stored = "".join(f"{indent}self.{n} = {n}{newline}" for n in kept)
        way.patch.replace(source, source.lines_span(removed[0], comments=True), stored)
    for one in removed[1:] if kept else removed:
        way.patch.delete(source, one, comments=True)
    yield way
