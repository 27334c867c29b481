# SPDX-License-Identifier: BSD-3-Clause
"""keep-history: remove the cut that should not be there."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Place, Remedy
from ._flow import dotted, simple
from ._numpy import translated
from ._patch import Patch
from ._project import Project, Scope
from ._source import Source, Span, walk
from ._uncut import uncut
from ._ways import Way

__all__ = ["propose"]

_WHY = "the loss then has a history that reaches the parameters"


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """The cut at the known place, then those of the functions on the way to the loss."""
    places = [p for p in (remedy.place, finding.built, finding.used, finding.failed) if p]
    for place in places[:2]:
        here = project.at(place)
        if here:
            yield from _at(here[0], here[1])
    for source, scope in _on_the_way(project, places):
        for patch in translated(source, scope):
            yield Way(patch, f"Compute `{scope.name.value}` with torch", safe=False, why=_WHY)
    for source, scope in _on_the_way(project, places):
        for statement in simple(source.body(scope)):
            yield from _at(source, statement)


def _on_the_way(project: Project, places: list[Place]) -> list[tuple[Source, cst.FunctionDef]]:
    """The functions around the places first, then every other that could have cut."""
    found: list[tuple[Source, Scope]] = project.scopes(*places)
    every = found + [(s, f) for s in project.sources for f in s.functions if not any(f is g for _, g in found)]
    return [(s, f) for s, f in every if isinstance(f, cst.FunctionDef)]


def _at(source: Source, statement: cst.BaseStatement) -> Iterator[Way]:
    """What cuts at one statement: calls in it, a `no_grad` around it."""
    for patch, what in uncut(source, statement):
        yield Way(patch, f"Keep the history: without {what}", safe=False, why=_WHY)
    for outer in [statement, *source.up(statement)]:
        if isinstance(outer, cst.With) and len(outer.items) == 1 and _stops(outer.items[0].item):
            patch = Patch()
            _dedent(patch, source, outer)
            yield Way(patch, "Keep the history: without `no_grad`", safe=False, why=_WHY)
        if isinstance(outer, cst.FunctionDef):
            for decorator in outer.decorators:
                if _stops(decorator.decorator):
                    patch = Patch()
                    patch.replace(source, _line(source, decorator), "")
                    yield Way(patch, "Keep the history: without `no_grad`", safe=False, why=_WHY)
            break


def _line(source: Source, node: cst.CSTNode) -> Span:
    return Span(source.offset(source.line_of(node)), source.offset(source.last_line(node) + 1))


def _stops(node: cst.BaseExpression) -> bool:
    name = dotted(getattr(node, "func", node)) or ""
    if name.endswith("set_grad_enabled"):
        return isinstance(node, cst.Call) and bool(node.args) and dotted(node.args[0].value) == "False"
    return name.endswith(("no_grad", "inference_mode"))


def _dedent(patch: Patch, source: Source, block: cst.With) -> None:
    """The body of a `with` without its head, one level to the left."""
    body = source.body(block)
    if not body:
        return
    indent, inner = source.indent(block), source.indent(body[0])
    span = source.lines_span(block)
    start = source.offset(source.last_line(block.items[-1]) + 1)
    rigid = {
        line
        for n in walk(block)
        if isinstance(n, cst.SimpleString | cst.FormattedString)
        for line in range(source.line_of(n) + 1, source.last_line(n) + 1)
    }
    first = source.line_at(start)
    lines = []
    for number in range(first, source.line_at(span.end - 1) + 1):
        text = source.text[source.offset(number) : source.offset(number + 1)]
        lines.append(indent + text.removeprefix(inner) if text.startswith(inner) and number not in rigid else text)
    patch.replace(source, span, "".join(lines))
