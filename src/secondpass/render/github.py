# SPDX-License-Identifier: BSD-3-Clause
"""GitHub's workflow commands: findings as annotations of a pull request."""

from __future__ import annotations

from ..record import Report
from ._notebook import row, told

__all__ = ["render"]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def render(report: Report) -> str:
    """A command per finding."""
    lines = []
    for finding in report.findings:
        place = finding.failed
        where = f",file={_property(place.file)},line={row(place)}" if place is not None else ""
        title = _property(f"secondpass ({finding.code})")
        text = told(finding.message, place) + (f" Remedy: {finding.remedies[0].title}." if finding.remedies else "")
        lines.append(f"::{finding.severity} title={title}{where}::{_data(text)}\n")
    return "".join(lines)
