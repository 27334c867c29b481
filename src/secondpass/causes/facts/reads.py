# SPDX-License-Identifier: BSD-3-Clause
"""Whether a program reads a graph by itself: what it keeps for that is needed although no pass walks it."""

from __future__ import annotations

from ...record import Pass, Trace
from .lines import sources_of

__all__ = ["reads_graph"]

_READING = ("_saved_", "_raw_saved_", "next_functions")
"""How the attributes begin that a graph is read by."""


def reads_graph(trace: Trace, one: Pass) -> bool:
    """Whether lines that ran, or that nobody says did not, read saved tensors or walk `next_functions`."""
    ran = {(p.file, p.line) for p in trace.called} if trace.called is not None else None
    for file, source in sources_of(trace):
        for line in source.lines_with(_READING):
            stmt = source.statement(line)
            if stmt is not None and (ran is None or (file, stmt.lineno) in ran):
                return True
    return False
