# SPDX-License-Identifier: BSD-3-Clause
"""The user's source around the places of a trace."""

from __future__ import annotations

from collections.abc import Iterator

from ...record import Pass, Place, Trace
from ...source import Source, expression, parsed, root_of

__all__ = ["call_text", "root_text", "source_of", "sources_of"]


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


def root_text(trace: Trace, one: Pass | None) -> str:
    """What a pass starts from, as the source writes it."""
    for place in one.stack if one is not None else ():
        source = source_of(trace, place)
        stmt = source.statement(place.line) if source is not None else None
        for one_of in source.beside(stmt) if source is not None and stmt is not None else ():
            if text := expression(root_of(one_of)):
                return text
    return ""


def call_text(trace: Trace, one: Pass) -> str:
    """The statement that makes a pass, shortened."""
    source = source_of(trace, one.place)
    text = source.text(one.place.line) if source is not None and one.place is not None else ""
    if not text:
        return f"a {one.kind} pass"
    return text if len(text) <= 60 else text[:57] + "..."
