# SPDX-License-Identifier: BSD-3-Clause
"""The user's source around the places of a trace."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...record import Pass, Place, Trace
from ...source import Source, expression, parsed, root_of

__all__ = ["call_text", "root_text", "source_of", "sources_of", "statement_text", "unparsed"]


def source_of(trace: Trace, place: Place | None) -> Source | None:
    """The source that a place stands in, where it is known and can be read."""
    text = trace.sources.get(place.file) if place is not None else None
    return parsed(text) if text else None


def sources_of(trace: Trace) -> Iterator[tuple[str, Source]]:
    """Every file of the program that can be read."""
    for file, text in trace.sources.items():
        source = parsed(text)
        if source is not None:
            yield file, source


def unparsed(name: str) -> str:
    """A path as `ast.unparse` writes it, as the targets of statements are, where it is an expression."""
    try:
        return ast.unparse(ast.parse(name, mode="eval"))
    except SyntaxError:
        return name


def _statement(trace: Trace, one: Pass, place: Place | None) -> ast.stmt | None:
    """The statement at a place that makes a pass; of several on one line, the one whose root the pass has started from."""
    source = source_of(trace, place)
    first = source.statement(place.line) if source is not None and place is not None else None
    if source is None or first is None:
        return None
    making = [(s, text) for s in source.beside(first) if (text := expression(root_of(s)))]
    if len(making) > 1:
        names = {b.name for b in trace.bindings if b.when == one.when and b.number in (one.roots or ())}
        making = [(s, text) for s, text in making if text in names] or making
    return making[0][0] if making else first


def root_text(trace: Trace, one: Pass | None) -> str:
    """What a pass starts from, as the source writes it."""
    for place in one.stack if one is not None else ():
        stmt = _statement(trace, one, place) if one is not None else None
        if stmt is not None and (text := expression(root_of(stmt))):
            return text
    return ""


def call_text(trace: Trace, one: Pass) -> str:
    """The statement that makes a pass, shortened."""
    stmt = _statement(trace, one, one.place)
    return _short(stmt) if stmt is not None else f"a {one.kind} pass"


def statement_text(trace: Trace, place: Place | None) -> str:
    """The statement at a place, shortened; nothing where it is not known."""
    source = source_of(trace, place)
    stmt = source.statement(place.line) if source is not None and place is not None else None
    return _short(stmt) if stmt is not None else ""


def _short(stmt: ast.stmt) -> str:
    text = ast.unparse(stmt).partition("\n")[0]
    return text if len(text) <= 60 else text[:57] + "..."
