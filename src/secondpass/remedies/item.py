# SPDX-License-Identifier: BSD-3-Clause
"""item: log the number, not the tensor with its graph."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Remedy
from .edit.patch import Patch, attached
from .edit.source import Source
from .find.flow import base_of, dotted, names_read, simple
from .find.project import Project
from .find.stores import wrapped_stores
from .proposal import Way
from .rewrite.accumulator import own_loss

__all__ = ["added_to_sum", "propose"]

_WHY = "a number has no history: nothing of the graph is kept"


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Stores or adds up numbers."""
    name = remedy.target or (finding.carrier.name if finding.carrier else "")
    if finding.cause == "accumulated-loss":
        for patch, title in own_loss(finding, name, project):
            yield Way(
                patch,
                title,
                safe=False,
                why="the pass goes through this turn's own loss; the accumulator keeps the number",
            )
        return  # what goes through a pass must stay a tensor
    here = project.at(remedy.place or finding.failed)
    for patch, what in added_to_sum(*here, name, ".item()") if here else ():
        yield Way(patch, f"Add the number to `{what}`", safe=True, why=_WHY)
    for patch, what in wrapped_stores(finding, name, project, ".item()") if name else ():
        yield Way(patch, f"Store the number of `{what}`", safe=True, why=_WHY)
    if here:
        yield from _entries(here[0], here[1])


def added_to_sum(source: Source, statement: cst.BaseStatement, name: str, suffix: str) -> Iterator[tuple[Patch, str]]:
    """`total += loss` and `total = total + loss` with what is added cut off, and the name of the sum."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    target = base_of(name)
    if isinstance(small, cst.AugAssign) and (not target or dotted(small.target) == target):
        yield _cut(source, small.value, suffix), dotted(small.target) or ""
    elif isinstance(small, cst.Assign) and isinstance(small.value, cst.BinaryOperation):
        for side, other in ((small.value.left, small.value.right), (small.value.right, small.value.left)):
            if dotted(small.targets[0].target) in names_read(side):
                yield _cut(source, other, suffix), dotted(small.targets[0].target) or ""


def _cut(source: Source, value: cst.BaseExpression, suffix: str) -> Patch:
    """A tensor, or each in a list, without its history."""
    patch = Patch()
    for node in [e.value for e in value.elements] if isinstance(value, cst.List | cst.Tuple) else [value]:
        patch.replace(source, node, attached(source, node, suffix))
    return patch


def _entries(source: Source, statement: cst.BaseStatement) -> Iterator[Way]:
    """A whole dictionary of tensors is stored (`**entry`, or a name): its values without their history."""
    scope = source.scope(statement)
    for node in [n for s in simple([statement]) for n in _arguments(s)]:
        name = dotted(node)
        if name is None:
            continue
        stars = (
            scope.params.star_kwarg.name.value
            if isinstance(scope, cst.FunctionDef) and scope.params.star_kwarg
            else None
        )
        form = "{{key: value.{m}() if hasattr(value, 'detach') else value for key, value in {n}.items()}}"
        if name != stars and not _dict_like(source, scope, name):
            continue
        for method in ("detach",):
            patch = Patch()
            patch.replace(source, node, form.format(m=method, n=name))
            yield Way(patch, f"Store the values of `{name}` without history", safe=True, why=_WHY)


def _arguments(statement: cst.BaseStatement) -> list[cst.BaseExpression]:
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
        return [a.value for a in small.value.args if a.star != "*"]
    if isinstance(small, cst.Assign):
        return [small.value]
    return []


def _dict_like(source: Source, scope: cst.CSTNode, name: str) -> bool:
    for statement in simple(source.body(scope)):
        small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        if (
            isinstance(small, cst.Assign)
            and dotted(small.targets[0].target) == name
            and isinstance(small.value, cst.Dict | cst.DictComp)
        ):
            return True
    return False
