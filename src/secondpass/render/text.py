# SPDX-License-Identifier: BSD-3-Clause
"""A report for people, at most `width` columns wide; painted by rich where colour is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from ..record import Report
from ._message import screen
from ._styled_line import Line, wrap

__all__ = ["STYLES", "painted", "render"]

STYLES = {
    "caret": "bold red",
    "code": "",
    "dim": "dim",
    "error": "bold red",
    "label": "cyan",
    "minus": "red",
    "plus": "green",
    "strong": "bold",
    "text": "",
    "warning": "bold yellow",
}


def render(report: Report, *, color: bool = False, width: int = 80, sources: Mapping[str, str] | None = None) -> str:
    """The whole report; the empty text when there is nothing to say."""
    lines: list[Line] = []
    for finding in report.findings:
        lines += [Line(), Line()] * bool(lines) + screen(finding, width=width, sources=sources)
    if report.notes and lines:
        lines.append(Line())
    for note in report.notes:
        lines += wrap(note, width, label="note")
    if not lines:
        return ""
    return painted(lines, width) if color else "\n".join(line.plain for line in lines) + "\n"


def painted(lines: list[Line], width: int) -> str:
    """Lines with their styles, for terminals."""
    from io import StringIO

    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    highlight = Syntax("", "python", theme="ansi_dark", background_color="default").highlight
    out = StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", no_color=False, force_jupyter=False)
    for line in lines:
        row = Text()
        for text, style in line.pieces:
            if style == "code":
                code = highlight(text)
                code.rstrip()
                row.append_text(code)
            else:
                row.append(text, STYLES[style])
        row.rstrip()
        console.print(row, soft_wrap=True)
    return out.getvalue()
