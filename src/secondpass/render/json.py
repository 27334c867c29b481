# SPDX-License-Identifier: BSD-3-Clause
"""A report for programs: the contract that `docs/schema/secondpass-1.json` describes."""

from __future__ import annotations

from ..record import Report

__all__ = ["render"]


def render(report: Report, *, indent: int | None = 2) -> str:
    """The report as JSON text, with a newline at its end."""
    return report.to_json(indent=indent) + "\n"
