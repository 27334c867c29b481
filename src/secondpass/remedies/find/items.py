# SPDX-License-Identifier: BSD-3-Clause
"""State in a container that is read and written item by item: `state["h"] = cell(x, state["h"])`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from ..edit.source import Source, walk
from .flow import base_of, dotted, simple, targets, written
from .project import Project, Scope

__all__ = ["items_with", "mixed", "sees", "stores_of"]

_KEY = re.compile(r"""\[(['"])(\w+)\1\](?:\[\d+\])?""")
_VALUES = (cst.Integer, cst.Float, cst.SimpleString, cst.FormattedString)


def items_with(project: Project, name: str) -> tuple[str, ...]:
    """The item that a name means, as the source writes it, and those that are assigned along with it.

    None where the source knows the item by a variable only: `state[agent]`.
    """
    base = base_of(name)
    key = _KEY.fullmatch(name, len(base))
    if key is None:
        return ()
    found: dict[str, None] = {}
    other = False
    for source, statement in _statements(project):
        here = {word: source.code(t) for t in targets(statement) if (word := _word(t, base))}
        other |= any(dotted(t) == f"{base}[...]" and not _word(t, base) for t in targets(statement))
        if key.group(2) in here:
            found |= dict.fromkeys([here[key.group(2)], *here.values()])
    return tuple(found) or (() if other else (f'{base}["{key.group(2)}"]',))


def stores_of(project: Project, name: str) -> Iterator[tuple[Source, cst.BaseStatement, str]]:
    """The statements that put something there, and the item as they write it."""
    items = items_with(project, name)
    for source, statement in _statements(project):
        for target in targets(statement):
            if source.code(target) in items[:1]:
                yield source, statement, items[0]


def mixed(project: Project, name: str) -> bool:
    """Whether something in the container is surely no tensor: it was given a number or a text."""
    base = base_of(name)
    if not items_with(project, name):
        return False
    for _, statement in _statements(project):
        for node in walk(statement):
            if isinstance(node, cst.AugAssign) and _word(node.target, base) and isinstance(node.value, _VALUES):
                return True
            if isinstance(node, cst.Assign) and any(_word(t.target, base) for t in node.targets):
                if isinstance(node.value, _VALUES):
                    return True
            if isinstance(node, cst.Assign) and any(dotted(t.target) == base for t in node.targets):
                if isinstance(node.value, cst.Dict) and any(isinstance(e.value, _VALUES) for e in node.value.elements):
                    return True
    return False


def sees(source: Source, scope: Scope, name: str) -> bool:
    """Whether a name means something in this function."""
    around = [f for f in source.functions if f is scope or source.inside(scope, f)]
    params = {p.name.value for f in around for p in (*f.params.params, *f.params.kwonly_params)}
    bodies = [source.body(s) for s in (source.module, *around)]
    return name in params or any(
        name == w.split(".")[0].split("[")[0] for b in bodies for s in simple(b) for w in written(s)
    )


def _statements(project: Project) -> Iterator[tuple[Source, cst.BaseStatement]]:
    for source in project.sources:
        for statement in simple(source.module, nested=True):
            if isinstance(statement, cst.SimpleStatementLine):
                yield source, statement


def _word(node: cst.CSTNode, base: str) -> str:
    """The key of `base["key"]`."""
    if isinstance(node, cst.Subscript) and dotted(node.value) == base and len(node.slice) == 1:
        index = node.slice[0].slice
        if isinstance(index, cst.Index) and isinstance(index.value, cst.SimpleString):
            return str(index.value.evaluated_value)
    return ""
