# SPDX-License-Identifier: BSD-3-Clause
"""Whether a program reads a graph by itself: what it keeps for that is needed although no pass walks it."""

from __future__ import annotations

import ast

from ...record import Pass, Trace
from .lines import sources_of

__all__ = ["reads_graph"]


def reads_graph(trace: Trace, one: Pass) -> bool:
    """Whether lines that ran, or that nobody says did not, read saved tensors or walk `next_functions`."""
    ran = {(p.file, p.line) for p in trace.called} if trace.called is not None else None
    for file, source in sources_of(trace):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Attribute) and node.attr.startswith(("_saved_", "_raw_saved_", "next_functions")):
                stmt = source.statement(node.lineno)
                if stmt is not None and (ran is None or (file, stmt.lineno) in ran):
                    return True
    return False
