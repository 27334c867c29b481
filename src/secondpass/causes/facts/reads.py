# SPDX-License-Identifier: BSD-3-Clause
"""What a program reads by itself: a graph, which it keeps for that although no pass walks it; the gradients that one pass has
left, before another adds to them."""

from __future__ import annotations

import ast

from ...record import Pass, Trace
from .lines import source_of, sources_of

__all__ = ["reads_gradients", "reads_graph", "reads_in_turn"]

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


def reads_gradients(trace: Trace, first: Pass, second: Pass) -> bool:
    """Whether statements between two passes of one function look at gradients (or clip them): they are those of the first
    loss then, and not of both."""
    below = {(p.file, p.function): p for p in second.stack}
    pair = next(((p, q) for p in first.stack if (q := below.get((p.file, p.function))) and p.line < q.line), None)
    source = source_of(trace, pair[0]) if pair is not None else None
    if source is None or pair is None:
        return False
    lines = range(pair[0].line + 1, pair[1].line)
    between = [s for s in source.statements if s.lineno in lines and (s.end_lineno or s.lineno) in lines]
    return any(_looks(trace, s, 2) for s in between)


def reads_in_turn(trace: Trace, one: Pass) -> bool:
    """Whether statements behind a pass, in the innermost loop around it, look at gradients in every turn; and none behind that
    loop, for which the sum of all turns may be meant."""
    source = source_of(trace, one.place)
    stmt = source.statement(one.place.line) if source is not None and one.place is not None else None
    loops = source.loops(stmt.lineno) if source is not None and stmt is not None else []
    if source is None or stmt is None or not loops:
        return False
    end = loops[0].end_lineno or stmt.lineno
    behind = [s for s in ast.walk(source.function(stmt.lineno)) if isinstance(s, ast.stmt) and s.lineno > stmt.lineno]
    within = any(_looks(trace, s, 2) for s in behind if s.lineno <= end)
    return within and not any(_looks(trace, s, 2) for s in behind if s.lineno > end)


def _looks(trace: Trace, node: ast.AST, depth: int) -> bool:
    calls = {part.func for part in ast.walk(node) if isinstance(part, ast.Call)}  # `autograd.grad(...)` is no gradient
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr == "grad" and isinstance(part.ctx, ast.Load):
            if part not in calls:
                return True
        called = part.func if isinstance(part, ast.Call) else None
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if name.startswith(("clip_grad_", "get_total_norm")):
            return True
        if name and depth and any(_looks(trace, f, depth - 1) for _, s in sources_of(trace) for f in s.functions(name)):
            return True
    return False
