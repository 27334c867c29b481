# SPDX-License-Identifier: BSD-3-Clause
"""One line of a screen: pieces of text, each with the name of a style. Plain Python, so that a note needs no rich."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

__all__ = ["LABEL", "Line", "cropped", "fold", "wrap"]

LABEL = 8
"""Columns of the labels on the left."""


@dataclass(frozen=True, slots=True)
class Line:
    """What stands on one line of the screen."""

    pieces: tuple[tuple[str, str], ...] = ()
    """(text, style) from left to right; the styles are in `text.STYLES`."""

    @property
    def plain(self) -> str:
        """The line without its styles."""
        return "".join(text for text, _ in self.pieces).rstrip()


def fold(text: str, width: int) -> list[str]:
    """Breaks a sentence at spaces; a word that is too long is left whole rather than made unreadable."""
    return textwrap.wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False) or [""]


def wrap(text: str, width: int, *, label: str = "", style: str = "text", indent: int = LABEL) -> list[Line]:
    """A labelled paragraph: the label on the first line, the text in a column of its own."""
    rows = fold(text, width - indent)
    heads = [label.ljust(indent)] + [" " * indent] * (len(rows) - 1)
    return [Line(((head, "label"), (row, style))) for head, row in zip(heads, rows, strict=True)]


def cropped(text: str, start: int, room: int) -> tuple[str, int]:
    """A line that fits and still shows column `start`, and how many columns went away on its left."""
    if len(text) <= room:
        return text, 0
    if start < room // 2:
        return text[: room - 3] + "...", 0
    left = min(start - 8, len(text) - room + 3)
    return "..." + text[left + 3 :][: room - 6] + ("..." if len(text) - left > room else ""), left
