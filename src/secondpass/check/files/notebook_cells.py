# SPDX-License-Identifier: BSD-3-Clause
"""Places in notebooks, by cell and line. Reading joins all code cells into one text; here its lines are told apart again."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from ...record import Finding, from_plain, to_plain
from .sources import Source, read_source

__all__ = ["Cells"]


class Cells:
    """The notebooks that findings lie in, each read once."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}

    def source(self, file: str) -> Source:
        """The joined text of a notebook."""
        found = self._sources.get(file)
        if found is None:
            found = self._sources[file] = read_source(file)
        return found

    def told(self, finding: Finding) -> Finding:
        """The finding with every place in a notebook by its cell and the line in that cell."""
        if finding.failed is None or not finding.failed.file.endswith(".ipynb"):
            return finding
        return from_plain(Finding, self._told(to_plain(finding)))

    def _told(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._told(v) for v in value]
        if not isinstance(value, dict):
            return value
        made = {k: self._told(v) for k, v in value.items()}
        file, line = made.get("file"), made.get("line")
        if isinstance(file, str) and file.endswith(".ipynb") and isinstance(line, int) and not made.get("cell"):
            marks = self.source(file).cells or []
            at = bisect_right(marks, line, key=lambda mark: mark[0]) - 1
            if at >= 0:
                first, cell, start = marks[at]
                made["cell"], made["line"] = cell, line - first + start
        return made
