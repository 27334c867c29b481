# SPDX-License-Identifier: BSD-3-Clause
"""Reports as text and as JSON. Each renderer is a module with `render(report) -> str`; `note` is for exceptions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import IO

from ..record import Finding, Report
from ..record.finding import HTML
from ._excerpt import labels
from ._message import screen

__all__ = ["color_for", "labels", "note", "painted", "width_for"]

_WIDTH, _NARROW = 80, 50


def note(finding: Finding, *, sources: Mapping[str, str] | None = None) -> str:
    """The text that is added to the user's exception: plain, without colour, and without rich."""
    lines = screen(finding, width=width_for(sys.stderr), sources=sources)
    # A traceback puts its notes right below the message: the empty line sets ours apart.
    return "\n" + "\n".join(line.plain for line in lines)


def painted(finding: Finding, *, sources: Mapping[str, str] | None = None) -> str:
    """The same in colour."""
    from .text import painted as paint

    width = width_for(sys.stderr)
    return "\n" + paint(screen(finding, width=width, sources=sources), width).rstrip("\n")


def color_for(stream: IO[str]) -> bool:
    """Whether colour is welcome there: a terminal, or FORCE_COLOR; https://no-color.org is respected first."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") != "0":
        return True
    if os.environ.get("TERM") == "dumb":
        return False
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def width_for(stream: IO[str]) -> int:
    """How many columns to fill there: 80, or fewer where a terminal has fewer."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (AttributeError, OSError, ValueError):
        return _WIDTH
    return max(_NARROW, min(_WIDTH, columns or _WIDTH))


def _html(value: Finding | Report) -> str:
    from .html import render

    return render(value if isinstance(value, Report) else Report(findings=(value,)))


HTML[:] = [_html]
