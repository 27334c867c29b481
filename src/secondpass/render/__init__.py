# SPDX-License-Identifier: BSD-3-Clause
"""Reports as text and as JSON. Each renderer is a module with `render(report) -> str`; `note` is for exceptions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO

from ..record import Finding, Report
from ..record.finding import HTML
from ._excerpt import labels
from ._message import screen

__all__ = ["color_for", "labels", "note", "painted"]


def note(finding: Finding, *, width: int = 80, sources: Mapping[str, str] | None = None) -> str:
    """The text that is added to the user's exception: plain, without colour, and without rich."""
    lines = screen(finding, width=width, sources=sources)
    # A traceback puts its notes right below the message: the empty line sets ours apart.
    return "\n" + "\n".join(line.plain for line in lines)


def painted(finding: Finding, *, width: int = 80, sources: Mapping[str, str] | None = None) -> str:
    """The same in colour."""
    from .text import painted as paint

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


def _html(value: Finding | Report) -> str:
    from .html import render

    return render(value if isinstance(value, Report) else Report(findings=(value,)))


HTML[:] = [_html]
