# SPDX-License-Identifier: BSD-3-Clause
"""One line per finding: `train.py:41: SP103 message`."""

from __future__ import annotations

from ..record import Report

__all__ = ["render"]


def render(report: Report) -> str:
    """A line per finding; a star marks those that `--fix` would repair."""
    lines = []
    for finding in report.findings:
        place = finding.failed
        where = f"{place.where}:" if place is not None else "-:"
        star = " [*]" if any(r.safe and r.edits for r in finding.remedies[:1]) else ""
        lines.append(f"{where} {finding.code}{star} {finding.message}\n")
    return "".join(lines)
