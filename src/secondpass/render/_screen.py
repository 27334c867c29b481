# SPDX-License-Identifier: BSD-3-Clause
"""What is said about one finding, from the headline down: what happened, where, when, what to do, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..record import Finding, Place, from_plain
from ._excerpt import excerpts
from ._line import LABEL, Line, fold, wrap
from ._remedy import remedies
from ._source import Sources

__all__ = ["screen"]

_PASSES = 5
"""How many of the last passes the timeline shows."""
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
        [Line((("more".ljust(LABEL), "label"), (f"secondpass explain {finding.cause}", "text")))],
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
    """The last passes, oldest first."""
    passes = [e for e in finding.evidence if e.get("what") == "pass"][-_PASSES:]
    whens = [_when(e) for e in passes]
    wheres = [_where(e) for e in passes]
    wide = max(map(len, whens), default=0), max(map(len, wheres), default=0)
    for at, (entry, when, where) in enumerate(zip(passes, whens, wheres, strict=True)):
        columns = [c.ljust(w) for c, w in zip((when, where), wide, strict=True) if w]
        head = "".join(f"{c}  " for c in columns)
        label = "passes" if at == 0 else ""
        rows = fold(_said(entry), width - LABEL - len(head))
        yield Line(((label.ljust(LABEL), "label"), (head, "dim"), (rows[0], "text")))
        for row in rows[1:]:
            yield Line(((" " * (LABEL + len(head)), "text"), (row, "text")))


def _when(entry: Mapping[str, Any]) -> str:
    iteration = entry.get("iteration")
    return f"iteration {iteration}" if isinstance(iteration, int) else ""


def _where(entry: Mapping[str, Any]) -> str:
    place = entry.get("place")
    if isinstance(place, Mapping):
        place = from_plain(Place, dict(place))
    return f"{place.file}:{place.line}" if isinstance(place, Place) else ""


def _said(entry: Mapping[str, Any]) -> str:
    text = str(entry.get("text") or "")
    if entry.get("retain") and "retain_graph" not in text:
        text += " (retain_graph=True)"
    label = entry.get("label")
    return f"{text} <- {label}" if label else text


def _facts(finding: Finding, width: int) -> Iterator[Line]:
    texts = [str(e.get("text") or "") for e in finding.evidence if e.get("what") != "pass"]
    texts = [t for t in dict.fromkeys(texts) if t and t not in finding.message][:_FACTS]
    for at, text in enumerate(texts):
        yield from wrap(text, width, label="seen" if at == 0 else "")
