# SPDX-License-Identifier: BSD-3-Clause
"""The places of a finding as source lines, with carets and what happened there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..record import Finding, Place
from ._source_lines import Sources, span_of_call, span_of_code, span_of_name
from ._styled_line import Line, cells, cropped, fold

__all__ = ["excerpts", "gutter", "labels"]

# What the three places are called, by the first letters of the code: the first match counts.
_WORDS = (
    ("SP2", ("saved for the backward", "changed in place", "the old value is needed")),
    ("SP3", ("history ends", "freed", "used")),
    ("SP403", ("leaves a gradient there", "freed", "here")),
    ("SP4", ("built", "freed", "here")),
    ("SP501", ("the forward", "averaged", "not averaged")),
    ("SP503", ("the forward", "handed over", "handed over again")),
    ("SP505", ("made in the region", "", "read")),
    ("SP504", ("the forward", "freed", "left open")),
    ("", ("built", "freed", "needed again")),
)
_INSIDE = ("built", "freed by one inner pass", "needed again by another")
_OUTDATED = ("built", "went through backward", "needed again")


@dataclass(frozen=True, slots=True)
class _Mark:
    """Something to say about one line."""

    place: Place
    role: str
    text: str


def excerpts(finding: Finding, width: int, sources: Sources) -> Iterator[Line]:
    """One block per file (in a notebook: cell) and function, in the order in which things happened."""
    blocks: dict[tuple[str, int | None, str], list[_Mark]] = {}
    for mark in _marks(finding):
        blocks.setdefault((mark.place.file, mark.place.cell, mark.place.function), []).append(mark)
    for marks in blocks.values():
        yield from _block(finding, marks, width, sources)


def gutter(number: int | None, sign: str = "|") -> tuple[str, str]:
    """The left edge of a source line."""
    return f"{'' if number is None else number:>6} {sign} ", "dim"


def labels(finding: Finding) -> dict[str, str]:
    """What happened at the places that are called built, freed and used, as people read it."""
    words = next(words for start, words in _WORDS if finding.code.startswith(start))
    if finding.facts.get("changed"):
        words = _OUTDATED
    if finding.facts.get("compiled") and finding.code == "SP505":
        words = ("the compiled region", "", "asks to keep its graph")
    if finding.facts.get("inside"):
        words = ("the checkpoint", *words[1:]) if finding.code.startswith("SP5") else _INSIDE
    return dict(zip(("built", "freed", "used"), words, strict=True))


def _marks(finding: Finding) -> Iterator[_Mark]:
    for role, word in labels(finding).items():
        place = getattr(finding, role)
        if place is not None:
            iteration = finding.facts.get(f"{role}_iteration")
            when = f" in iteration {iteration}" if isinstance(iteration, int) else ""
            yield _Mark(place, role, word + when)
    if finding.failed is not None and finding.failed not in (finding.built, finding.freed, finding.used):
        yield _Mark(finding.failed, "failed", "fails here" if finding.severity == "error" else "here")


def _block(finding: Finding, marks: list[_Mark], width: int, sources: Sources) -> Iterator[Line]:
    first = marks[0].place
    pointed = next((m.place for m in marks if m.place == finding.failed), first)
    inside = "" if first.function in ("", "<module>") else f" in {first.function}"
    yield Line(((f"    --> {pointed.where}{inside}", "dim"),))
    by_line: dict[int, list[_Mark]] = {}
    for mark in marks:
        by_line.setdefault(mark.place.line, []).append(mark)
    texts = {number: sources.line(first.file, number, first.cell) for number in by_line}
    loop = _loop_header(finding, marks)
    if loop is not None:
        texts[loop] = sources.line(first.file, loop, first.cell)
    known = [t for t in texts.values() if t]
    margin = min((len(t) - len(t.lstrip()) for t in known), default=0)
    for number in sorted(texts):
        text = texts[number]
        here = by_line.get(number, [])
        if text is None:
            yield Line((gutter(number), (", ".join(m.text for m in here), "caret")))
            continue
        yield from _marked(finding, number, text[margin:], here, width)


def _loop_header(finding: Finding, marks: list[_Mark]) -> int | None:
    """The line of the loop that separates the iterations, when it stands above the places shown."""
    loop = finding.facts.get("loop")
    first = marks[0].place
    if not isinstance(loop, dict) or (loop.get("file"), loop.get("cell")) != (first.file, first.cell):
        return None
    line, lines = loop.get("line"), [m.place.line for m in marks]
    return line if isinstance(line, int) and line < max(lines) and line not in lines else None


def _marked(finding: Finding, number: int, text: str, marks: list[_Mark], width: int) -> Iterator[Line]:
    spans: dict[tuple[int, int], list[str]] = {}
    for mark in marks:
        spans.setdefault(_span(finding, mark, text), []).append(mark.text)
    room = width - len(gutter(number)[0])
    whole = text
    text, cut = cropped(whole, min((s for s, _ in spans), default=0), room)
    yield Line((gutter(number), (text, "code")))
    for (start, end), words in spans.items():
        if start - cut >= len(text) - 3 and text != whole[cut:]:  # further along the line: that part of it, again
            text, cut = cropped(whole, start, room)
            yield Line((gutter(number), (text, "code")))
        start, end = max(start - cut, 0), min(max(end - cut, start - cut + 1), len(text))
        carets = " " * cells(text[:start]) + "^" * max(cells(text[start:end]), 1)
        said = ", ".join(words)
        if len(carets) + 1 + cells(said) <= room:
            yield Line((gutter(None), (f"{carets} {said}", "caret")))
            continue
        yield Line((gutter(None), (carets, "caret")))
        indent = min(cells(text[:start]), max(room - 40, 0))
        for row in fold(said, room - indent):
            yield Line((gutter(None), (" " * indent + row, "caret")))


def _span(finding: Finding, mark: _Mark, text: str) -> tuple[int, int]:
    found = None
    # Memory runs out, and a tensor is stored, anywhere in a statement.
    if mark.role != "built" and finding.code not in ("SP401", "SP506"):
        changed = mark.role == "freed" and finding.code.startswith("SP2")
        second = mark.role == "used" and _two_on_one_line(finding)
        found = span_of_call(text, "step") if changed else span_of_call(text, "backward", "grad", last=second)
    if found is None and finding.carrier is not None:
        found = span_of_name(text, finding.carrier.name)
    return found or span_of_code(text)


def _two_on_one_line(finding: Finding) -> bool:
    """Whether the pass that freed and the one that came to it are two calls of one line, not one call of a loop."""
    freed, used = (finding.facts.get(f"{role}_iteration") for role in ("freed", "used"))
    return finding.freed is not None and finding.freed == finding.used and freed == used
