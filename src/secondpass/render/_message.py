# SPDX-License-Identifier: BSD-3-Clause
"""What is said about one finding, from the headline down: what happened, where, when, what to do, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..record import Finding, Place, from_plain
from ._excerpt import excerpts
from ._remedy import remedies
from ._source_lines import Sources
from ._styled_line import LABEL, Line, cells, cropped, fold, padded, wrap

__all__ = ["screen"]

_TIMED = ("pass", "step")
_SILENT = (*_TIMED, "node")
"""What is not said below the timeline. Names of nodes are for the JSON report: they help nobody who is stuck."""
_PASSES = 6
"""How many of the last passes and steps the timeline shows."""
_FACTS = 4
"""How many other facts a screen shows; the JSON report has all."""


def screen(finding: Finding, *, width: int = 80, sources: Mapping[str, str] | None = None) -> list[Line]:
    """The lines of one finding."""
    read = Sources(sources)
    parts = (
        _headline(finding, width),
        excerpts(finding, width, read),
        _timeline(finding, width),
        _facts(finding, width),
        remedies(finding, width, read),
        # A file that could not be read has no cause.
        [Line((("more".ljust(LABEL), "label"), (f"secondpass explain {finding.cause}", "text")))]
        * (finding.code != "SP000"),
    )
    lines: list[Line] = []
    for part in map(list, parts):
        if part:
            lines += [Line(), *part] if lines else part
    return lines


def _headline(finding: Finding, width: int) -> Iterator[Line]:
    name = f"{finding.code} {finding.cause}"
    likely = "" if finding.sure else " (likely)"
    rows = fold(f"{name}{likely}: {finding.message}", width)
    style = "error" if finding.severity == "error" else "warning"
    yield Line(((rows[0][: len(name)], style), (rows[0][len(name) :], "strong")))
    for row in rows[1:]:
        yield Line(((row, "strong"),))


def _timeline(finding: Finding, width: int) -> Iterator[Line]:
    """The last passes, and the steps between them, oldest first."""
    entries = [e for e in finding.evidence if e.get("what") in _TIMED][-_PASSES:]
    places = [_place(e) for e in entries]
    one_file = len({p.file for p in places if p}) == 1
    rows = [
        (_when(entry), _where(place, one_file), str(entry.get("text") or ""), _outcome(entry))
        for entry, place in zip(entries, places, strict=True)
    ]
    if not rows:
        return
    whens, wheres, calls, labels = (max(map(cells, column)) for column in zip(*rows, strict=True))
    calls = min(calls, max(width - LABEL - whens - wheres - labels - 6, 12))
    for at, (when, where, call, label) in enumerate(rows):
        row = zip((when, where, cropped(call, 0, calls)[0], label), (whens, wheres, calls, labels), strict=True)
        text = "  ".join(padded(cell, size) for cell, size in row if size)
        yield Line((("passes".ljust(LABEL) if at == 0 else " " * LABEL, "label"), (text, "text")))


def _when(entry: Mapping[str, Any]) -> str:
    iteration = entry.get("iteration")
    if entry.get("nested"):
        return "  inside it"
    return f"iteration {iteration}" if isinstance(iteration, int) else ""


def _place(entry: Mapping[str, Any]) -> Place | None:
    place = entry.get("place")
    return from_plain(Place, dict(place)) if isinstance(place, Mapping) else None


def _where(place: Place | None, one_file: bool) -> str:
    if place is None:
        return ""
    if not one_file:
        return replace(place, file=Path(place.file).name).where
    return f"line {place.line}" if place.cell is None else f"cell {place.cell} line {place.line}"


def _outcome(entry: Mapping[str, Any]) -> str:
    return str(entry.get("label") or ("kept its graph" if entry.get("retain") else ""))


def _facts(finding: Finding, width: int) -> Iterator[Line]:
    texts = [str(e.get("text") or "") for e in finding.evidence if e.get("what") not in _SILENT]
    texts = [t for t in dict.fromkeys(texts) if t and t not in finding.message][:_FACTS]
    for at, text in enumerate(texts):
        yield from wrap(text, width, label="seen" if at == 0 else "")
