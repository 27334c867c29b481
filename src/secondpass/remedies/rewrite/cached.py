# SPDX-License-Identifier: BSD-3-Clause
"""A cached result with history: computed anew each time."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ...record import Finding
from ..edit.patch import Patch
from ..edit.source import Source, Span
from ..find.flow import base_of, dotted, plain, simple, written
from ..find.held import cuts, held_paths
from ..find.project import Project
from ..proposal import Way
from .moves import lines_of, makes_leaf

__all__ = ["emptied_memo", "uncached"]

_WHY = "a cached graph is spent by the first pass; the parameters that it depends on change anyway"


def uncached(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """`if self.x is None: self.x = f()` without its condition; `@cache` without the decorator."""
    wanted = base_of(name)
    own = _own_names(finding)
    for source in project.sources:
        for node in [s for s in simple(source.module, nested=True) if isinstance(s, cst.If) and s.orelse is None]:
            body = source.body(node)
            stored = {plain(w) for s in simple(body) for w in written(s)}
            held = [w for w in stored if w == wanted or w.split("[")[0] == wanted or wanted == w.rsplit(".", 1)[-1]]
            inside = source.class_of(node)
            held = held or [w for w in stored if inside and (inside.name.value, w.split("[")[0]) in own]
            if held and _asks(source.code(node.test), held) and _computed(project, source, node, held):
                way = Way(title=f"Compute `{held[0]}` each time", safe=True, why=_WHY)
                _unwrap(way.patch, source, node)
                yield way
        for function in source.functions:
            for decorator in function.decorators:
                called = dotted(getattr(decorator.decorator, "func", decorator.decorator)) or ""
                if called.rsplit(".", 1)[-1] in {"cache", "lru_cache", "cached_property"} and _built_there(
                    finding, source, function
                ):
                    way = Way(title=f"Do not cache `{function.name.value}`", safe=True, why=_WHY)
                    text = f"@property{source.newline}" if called.endswith("cached_property") else ""
                    start = source.offset(source.line_of(decorator))
                    indent = source.text[start : source.span(decorator).start] if text else ""
                    end = source.offset(source.last_line(decorator) + 1)
                    way.patch.replace(source, Span(start, end), indent + text)
                    yield way


def _own_names(finding: Finding) -> set[tuple[str, str]]:
    """What was seen as `encoder.seen` is, inside its class, `self.seen`: the class and that name."""
    found = set()
    for held in held_paths(finding):
        for depth, way in enumerate(held.path.ways):
            if way.kind == "attribute":
                found.add((held.path.type_at(depth), f"self.{way.key}"))
    return found


def emptied_memo(finding: Finding, project: Project) -> Iterator[Way]:
    """A dict that keeps results is emptied behind the step, as soon as they are out of date."""
    for cut in cuts(finding, project):
        paths = [h.path for parts in cut.targets.values() for h in parts]
        memos = {str(h): h for p in paths if (h := p.holder) is not None and h.types[-1] == "dict"}
        if memos:
            way = Way(title=f"Empty `{next(iter(memos))}` behind the step", why=_WHY)
            way.patch.insert_after(cut.source, cut.anchor, [f"{name}.clear()" for name in memos])
            yield way


def _computed(project: Project, source: Source, node: cst.If, held: list[str]) -> bool:
    """Whether the guarded value has history, and nothing else gives the name one: not the start of a state."""
    tracked = project.tracked(source, source.scope(node))

    def with_history(statement: cst.BaseStatement) -> bool:
        small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        value = getattr(small, "value", None)
        if value is None or not {plain(w) for w in written(statement)} & set(held):
            return False
        return project.gives_history(value, tracked) and not makes_leaf(project, source, statement)

    own = list(simple(source.body(node)))
    scope = source.class_of(node) or source.module
    others = [s for s in simple(scope, nested=True) if not any(s is o for o in own)]
    return any(with_history(s) for s in own) and not any(with_history(s) for s in others)


def _asks(test: str, names: list[str]) -> bool:
    """Whether a condition asks if the value is already there."""
    if not any(n.rsplit(".", 1)[-1].split("[")[0] in test for n in names):
        return False
    return any(word in test for word in ("is None", "not in", "not hasattr", "not ", "len(", "== 0"))


def _built_there(finding: Finding, source: Source, function: cst.FunctionDef) -> bool:
    place = finding.built
    return (
        place is not None
        and place.file == source.file
        and source.line_of(function) <= place.line <= source.last_line(function)
    )


def _unwrap(patch: Patch, source: Source, node: cst.If) -> None:
    indent = source.indent(node)
    lines = [line for s in source.body(node) for line in lines_of(source, s, comments=True)]
    text = "".join(f"{indent}{line}{source.newline}" if line else source.newline for line in lines)
    patch.replace(source, source.lines_span(node), text)
