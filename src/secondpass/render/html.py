# SPDX-License-Identifier: BSD-3-Clause
"""A report for notebooks: HTML without scripts, every text escaped. Importing `render` makes records show themselves so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from ..record import Finding, Report
from ._message import screen
from ._styled_line import Line

__all__ = ["render"]

# Colours that can be read on white and on black.
_STYLES = {
    "caret": "color:#d1495b;font-weight:bold",
    "dim": "opacity:.6",
    "error": "color:#d1495b;font-weight:bold",
    "label": "color:#2a8fa8",
    "minus": "color:#d1495b",
    "plus": "color:#2e9e5b",
    "strong": "font-weight:bold",
    "warning": "color:#c27c0e;font-weight:bold",
}
_BLOCK = "white-space:pre-wrap;line-height:1.35;margin:0 0 1em 0;padding:.5em .8em;border-left:3px solid "


def render(report: Report, *, sources: Mapping[str, str] | None = None) -> str:
    """The whole report."""
    blocks = [_block(f, sources) for f in report.findings]
    blocks += [f"<p>{escape(note)}</p>" for note in report.notes]
    if not blocks:
        blocks = [f"<p>secondpass: nothing is wrong ({report.passes.get('count', 0)} passes seen).</p>"]
    return f'<div class="secondpass">{"".join(blocks)}</div>'


def _block(finding: Finding, sources: Mapping[str, str] | None) -> str:
    color = "#d1495b" if finding.severity == "error" else "#c27c0e"
    return f'<pre style="{_BLOCK}{color}">{_lines(screen(finding, sources=sources))}</pre>'


def _lines(lines: Iterable[Line]) -> str:
    return "\n".join("".join(_piece(text, style) for text, style in line.pieces) for line in lines)


def _piece(text: str, style: str) -> str:
    css = _STYLES.get(style)
    return f'<span style="{css}">{escape(text)}</span>' if css else escape(text)
