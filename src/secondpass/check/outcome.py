# SPDX-License-Identifier: BSD-3-Clause
"""What came of reading a file."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..record import Finding

__all__ = ["Called", "Outcome"]

Called = set[tuple[str, int]]
"""(file, line) of functions that were entered."""


@dataclass
class Outcome:
    """What came of reading one entry, or several."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    called: Called = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    """The files that were looked into."""

    def add(self, other: Outcome) -> None:
        """Takes in what came of another entry."""
        self.findings += other.findings
        self.notes += other.notes
        self.called |= other.called
        self.files |= other.files
