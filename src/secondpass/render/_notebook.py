# SPDX-License-Identifier: BSD-3-Clause
"""Places in notebooks, for tools that know files and lines only: they are shown line 1, and told the cell in words."""

from __future__ import annotations

from ..record import Place

__all__ = ["row", "told"]


def row(place: Place) -> int:
    """The line that such a tool is given."""
    return place.line if place.cell is None else 1


def told(text: str, place: Place | None) -> str:
    """A message with the cell and the line in it."""
    if place is None or place.cell is None:
        return text
    return f"{text} (cell {place.cell}, line {place.line})"
