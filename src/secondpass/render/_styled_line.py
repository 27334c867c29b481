# SPDX-License-Identifier: BSD-3-Clause
"""One line of a screen: pieces of text, each with the name of a style. Plain Python, so that a note needs no rich."""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import dataclass

__all__ = ["LABEL", "Line", "cells", "cropped", "fold", "padded", "wrap"]

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


def wrap(text: str, width: int, *, label: str = "", style: str = "text") -> list[Line]:
    """A labelled paragraph: the label on the first line, the text in a column of its own."""
    rows = fold(text, width - LABEL)
    heads = [label.ljust(LABEL)] + [" " * LABEL] * (len(rows) - 1)
    return [Line(((head, "label"), (row, style))) for head, row in zip(heads, rows, strict=True)]


def cells(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide character (CJK, emoji), none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf") else _WIDE.get(_width(c), 1)
        for c in text
    )


_WIDE = {"W": 2, "F": 2}
_width = unicodedata.east_asian_width


def padded(text: str, width: int) -> str:
    """A text with spaces behind it, up to so many columns."""
    return text + " " * max(0, width - cells(text))


def _first(text: str, room: int) -> str:
    """As much of the beginning as fits into so many columns."""
    if text.isascii():
        return text[: max(room, 0)]
    end = len(text)
    while end and cells(text[:end]) > room:
        end -= 1
    return text[:end]


def cropped(text: str, start: int, room: int) -> tuple[str, int]:
    """A line that fits and still shows its character `start`, and how many characters went away on its left."""
    if cells(text) <= room:
        return text, 0
    if cells(text[:start]) < room // 2:
        return _first(text, room - 3) + "...", 0
    left = min(start - 8, len(text) - room + 3) if text.isascii() else max(start - 8, 0)
    rest = text[left + 3 :]
    shown = _first(rest, room - 6)
    return "..." + shown + ("..." if len(shown) < len(rest) else ""), left
