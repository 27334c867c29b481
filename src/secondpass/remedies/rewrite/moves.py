# SPDX-License-Identifier: BSD-3-Clause
"""Moving and repeating statements: their text goes along, indented for its new place."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from ..edit.patch import Patch
from ..edit.source import Source, walk
from ..find.flow import calls, dotted, head, names_read, reads, simple, written
from ..find.project import Project

__all__ = ["lines_of", "makes_leaf", "movable", "put", "readers"]


def lines_of(
    source: Source,
    statement: cst.BaseStatement,
    comments: bool = False,
    unwanted: set[str] | None = None,
    renamed: set[str] | None = None,
    data: set[str] | None = None,
) -> list[str]:
    """A statement's lines without its indentation, for putting elsewhere; `unwanted` names of a tuple become `_`, `renamed`
    ones get a name of their own, and of `data` it reads the values."""
    span = source.lines_span(statement, comments)
    indent = source.indent(statement)
    # A string over several lines must keep its text: such a statement's later lines stay as they are.
    rigid = any(
        isinstance(n, cst.SimpleString | cst.FormattedString) and "\n" in source.code(n) for n in walk(statement)
    )
    text = source.text[span.start : span.end]
    others = {id(n): f"{n.value}_again" for n in _variables(statement) if n.value in (renamed or ())}
    others |= {id(n): f"{source.code(n)}.detach()" for name in data or () for n in reads(statement, name)}
    others |= {id(n): "_" for n in _elements(statement) if n.value in (unwanted or ())}
    changed = [n for n in walk(statement) if id(n) in others]
    for name in sorted(changed, key=lambda n: -source.span(n).start):
        here = source.span(name)
        text = text[: here.start - span.start] + others[id(name)] + text[here.end - span.start :]
    lines = text.rstrip("\r\n").splitlines()
    return [line.removeprefix(indent) if i == 0 or not rigid else line for i, line in enumerate(lines)]


def _elements(statement: cst.BaseStatement) -> list[cst.Name]:
    """The names of a tuple that a statement assigns to."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
    if not isinstance(target, cst.Tuple):
        return []
    return [e.value for e in target.elements if isinstance(e.value, cst.Name)]


def _variables(statement: cst.BaseStatement) -> list[cst.Name]:
    """The names in a statement that stand for a variable: no attributes, and no arguments' names."""
    nodes = list(walk(statement))
    fixed = {id(n.attr) for n in nodes if isinstance(n, cst.Attribute)}
    fixed |= {id(n.keyword) for n in nodes if isinstance(n, cst.Arg) and n.keyword is not None}
    return [n for n in nodes if isinstance(n, cst.Name) and id(n) not in fixed]


def put(
    patch: Patch,
    source: Source,
    statements: Iterable[cst.BaseStatement],
    anchor: cst.BaseStatement,
    after: bool = False,
    moved: Iterable[cst.BaseStatement] = (),
    unwanted: set[str] | None = None,
    renamed: set[str] | None = None,
    data: set[str] | None = None,
) -> None:
    """Writes statements before (or after) an anchor and takes those that move away from where they stood.

    What is repeated gives no new value to `unwanted` and `renamed` names, and reads `data` without history.
    """
    gone = {id(s) for s in moved}
    lines: list[str] = []
    for statement in statements:
        moves = id(statement) in gone
        lines += lines_of(
            source, statement, comments=moves, unwanted=None if moves else unwanted, renamed=renamed, data=data
        )
    for statement in moved:
        patch.delete(source, statement, comments=True)
    (patch.insert_after if after else patch.insert_before)(source, anchor, lines)


def makes_leaf(project: Project, source: Source, statement: cst.BaseStatement) -> bool:
    """Whether a statement makes what is trained (a module, a parameter, an optimizer): never to be run again."""
    found = list(calls(statement))
    used = {id(c.func) for c in found}
    if any(project.makes_leaf(c) for c in found if id(c) not in used):
        return True
    return bool(written(statement) & (project.owners | project.leaves(source, source.scope(statement))))


def readers(region: Iterable[cst.BaseStatement], names: set[str], inner: bool = True) -> list[cst.BaseStatement]:
    """The simple statements and heads that read one of some names, nested functions included."""
    return [
        s
        for s in simple(region, nested=inner)
        if not isinstance(s, cst.FunctionDef | cst.ClassDef) and _head_names(s) & names
    ]


def _head_names(statement: cst.BaseStatement) -> set[str]:
    found: set[str] = set()
    for node in head(statement):
        found |= names_read(node)
    if isinstance(statement, cst.SimpleStatementLine):
        for small in statement.body:
            if isinstance(small, cst.Assign):
                found -= {name for t in small.targets if (name := dotted(t.target))} - names_read(small.value)
    return found


def movable(
    source: Source,
    statements: list[cst.BaseStatement],
    region: list[cst.BaseStatement],
    within: tuple[int, int],
    kept: set[str] | None = None,
) -> list[cst.BaseStatement]:
    """Those statements whose results nobody else reads inside a stretch of the text: they move, others (and those that give
    `kept` names) repeat."""
    staying = {id(s) for s in statements if written(s) & (kept or set())}
    changed = True
    while changed:
        changed = False
        for statement in statements:
            if id(statement) in staying:
                continue
            for reader in readers(region, written(statement)):
                mine = any(reader is s for s in statements) and id(reader) not in staying
                if reader is not statement and not mine and within[0] <= source.order(reader) < within[1]:
                    staying.add(id(statement))
                    changed = True
    return [s for s in statements if id(s) not in staying]
