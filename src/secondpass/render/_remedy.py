# SPDX-License-Identifier: BSD-3-Clause
"""A remedy as the edit to make."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from difflib import SequenceMatcher

from ..causes import find
from ..record import Edit, Finding
from ._excerpt import gutter
from ._source_lines import Sources
from ._styled_line import Line, cropped, wrap

__all__ = ["remedies"]

_MOST = 24
"""Lines of a diff that a screen shows; `secondpass fix` shows it whole."""


def remedies(finding: Finding, width: int, sources: Sources) -> Iterator[Line]:
    """The best remedy with its edit and its reason, the others by name."""
    if not finding.remedies:
        return
    best, *others = finding.remedies
    where = f" ({best.place.where})" if best.place and not (best.edits or best.diff) else ""
    yield from wrap(_sentence(best.title) + where, width, label="fix" if best.safe else "try", style="strong")
    rows = list(_edits(best.edits, width, sources) if best.edits else _diff(best.diff))
    yield from rows[:_MOST]
    if len(rows) > _MOST:
        yield Line((gutter(None), (f"... {len(rows) - _MOST} more lines: see `secondpass fix`", "dim")))
    if best.proof is not None and best.proof.status != "not run":
        yield from wrap(best.proof.detail or best.proof.status, width, label=best.proof.status.ljust(7))
    for other in others:
        yield from wrap(_sentence(other.title), width, label="or")
    known = find(finding.cause)
    reasons = [_sentence(best.why, "."), known.instead if known is not None else ""]
    if "retain_graph" in best.why or best.kind == "retain-graph":
        reasons.pop()
    if any(reasons):
        yield from wrap(" ".join(filter(None, reasons)), width, label="why")


def _sentence(text: str, end: str = "") -> str:
    """With a capital in front and, where there is none, an end."""
    if text.partition(" ")[0].isalpha():  # not a piece of code
        text = text[:1].upper() + text[1:]
    return text + end if text and text[-1] not in ".!?" else text


def _edits(edits: tuple[Edit, ...], width: int, sources: Sources) -> Iterator[Line]:
    several = len({e.file for e in edits}) > 1
    shown, last = "", Line()
    for edit in sorted(edits, key=lambda e: (e.file, e.line)):
        if several and edit.file != shown:
            yield Line(((f"    --> {edit.file}", "dim"),))
            shown = edit.file
        for line in _edit(edit, width, sources):
            if line != last or line.pieces[1][1] != "code":  # what stands between two edits is context of both
                yield line
            last = line


def _edit(edit: Edit, width: int, sources: Sources) -> Iterator[Line]:
    old = edit.old.expandtabs(8).split("\n") if edit.old else []
    new = edit.new.expandtabs(8).split("\n") if edit.new else []
    rows: list[tuple[str, int | None, str]] = []
    for what, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            # One line of context on each side of a change tells where it is.
            near = {i for i, beside in ((a, a > 0), (b - 1, b < len(old))) if beside}
            rows += [(" ", edit.line + i, old[i]) for i in sorted(near)]
            continue
        rows += [("-", edit.line + i, old[i]) for i in range(a, b)]
        rows += [("+", None, new[i]) for i in range(c, d)]
    if not old:  # an insertion is shown between its neighbours
        before, after = (
            [(" ", number, text)] if (text := sources.line(edit.file, number)) is not None else []
            for number in (edit.line - 1, edit.line)
        )
        rows = [*before, *rows, *after]
    texts = textwrap.dedent("\n".join(text for _, _, text in rows)).split("\n")
    styles = {" ": "code", "-": "minus", "+": "plus"}
    for (sign, number, _), text in zip(rows, texts, strict=True):
        edge = gutter(number, "|" if sign == " " else sign)
        # What changes is shown whole, however long: it is there to be copied.
        shown = cropped(text, 0, width - len(edge[0]))[0] if sign == " " else text
        yield Line((edge, (shown, styles[sign])))


def _diff(diff: str) -> Iterator[Line]:
    for row in diff.splitlines():
        if row.startswith(("---", "+++")):
            continue
        style = {"+": "plus", "-": "minus"}.get(row[:1], "dim")
        yield Line((("        " + row, style),))
