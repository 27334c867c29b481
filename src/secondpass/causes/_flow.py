# SPDX-License-Identifier: BSD-3-Clause
"""Whether what a pass returned ends up in the loss of a later pass, as far as the source tells."""

from __future__ import annotations

import ast

from ..record import Pass, Trace
from ._source import Source, assigned, names_in, source_of

__all__ = ["flows_into"]


def flows_into(trace: Trace, first: Pass, later: Pass) -> bool:
    """Follows names from the `grad` call through assignments and returns to the root of the later pass."""
    tainted: set[str] = set()
    shared = {(p.file, p.function) for p in later.stack}
    for depth, place in enumerate(first.stack):
        source = source_of(trace, place)
        if source is None:
            return False
        stmt = source.statement(place.line)
        if stmt is None:
            return False
        if depth == 0 or tainted:
            if isinstance(stmt, ast.Return):
                tainted = {"<returned>"}
                continue
            own = {ast.unparse(t) for t in assigned(stmt)}
            tainted = _spread(source, place.line, own)
        if (place.file, place.function) in shared:
            return _reaches(trace, source, later, tainted)
    return False


def _spread(source: Source, line: int, tainted: set[str]) -> set[str]:
    """What the rest of a function makes of some names; "<returned>" when it returns one of them."""
    function = source.function(line)
    for _ in range(4):
        before = len(tainted)
        for node in ast.walk(function):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                if _mentions(node.value, tainted):
                    tainted |= {ast.unparse(t) for t in assigned(node)}
            elif isinstance(node, ast.For) and _mentions(node.iter, tainted):
                tainted |= {ast.unparse(t) for t in assigned(node)}
            elif isinstance(node, (ast.Return, ast.Yield)) and node.value is not None and _mentions(node.value, tainted):
                tainted.add("<returned>")
            elif isinstance(node, ast.comprehension) and _mentions(node.iter, tainted):
                tainted |= names_in(node.target)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
                if any(_mentions(a, tainted) for a in node.args):
                    tainted.add(ast.unparse(node.func.value))
        if len(tainted) == before:
            break
    return tainted


def _mentions(expr: ast.AST, tainted: set[str]) -> bool:
    return any(ast.unparse(n) in tainted for n in ast.walk(expr) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)))




def _reaches(trace: Trace, source: Source, later: Pass, tainted: set[str]) -> bool:
    for place in later.stack:
        there = source_of(trace, place)
        if there is None:
            continue
        root = there.root(place.line)
        if root is not None and _mentions(root, tainted):
            return True
        stmt = there.statement(place.line)
        if stmt is not None and _mentions(stmt, tainted):
            return True
    return False
