# SPDX-License-Identifier: BSD-3-Clause
"""What came of reading a file."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...record import Finding, Place
from ..files.sources import Source
from .denials import Denial

__all__ = ["UNREADABLE", "Called", "Outcome"]

UNREADABLE = "SP000"

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
    denied: set[Denial] = field(default_factory=set)
    """What programs showed against what is said of others."""

    def add(self, other: Outcome) -> None:
        """Takes in what came of another entry."""
        self.findings += other.findings
        self.notes += other.notes
        self.called |= other.called
        self.files |= other.files
        self.denied |= other.denied

    def look(self, name: str, source: Source | None) -> None:
        """A file that cannot be read is no clean file."""
        if source is None or not source.problem:
            return
        if source.large:
            self.notes.append(f"{name}: {source.problem}")
        else:
            self.findings.append(_unreadable(name, source))


def _unreadable(name: str, source: Source) -> Finding:
    problem = source.problem[:1].upper() + source.problem[1:]
    return Finding(
        UNREADABLE,
        "unreadable",
        "error",
        f"{problem}. Nothing in this {'file' if source.tree is None else 'cell'} was checked.",
        Place(name, source.line),
    )
