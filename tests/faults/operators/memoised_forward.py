# SPDX-License-Identifier: BSD-3-Clause
"""Cache what a function computes from trained parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Function, Host, Loop
from ..program import Edit, tagged
from . import Change
from ._blocks import top, where

CAUSE = "hoisted-forward"


def mutants(host: Host) -> Iterator[Change]:
    for function, calls in _functions(host):
        edits = [*_cached(host, function), *(host.replace(c, tagged(host.text(c))) for c in calls)]
        names = (function.name, *(ast.unparse(c.func if isinstance(c, ast.Call) else c) for c in calls))
        yield Change(
            where(host, function), tuple(edits), remedy=("recompute", "other"), carrier=names, also=("stored-history",)
        )


def _cached(host: Host, function: ast.FunctionDef) -> list[Edit]:
    file = host.file(function)
    first = top(host, file)
    prop = [d for d in function.decorator_list if ast.unparse(d) == "property"]
    edits = [host.before(first, "import functools")]
    if prop:
        return [*edits, host.replace(prop[0], "functools.cached_property")]
    if file == "main.py" and first is function:
        return []
    return [*edits, host.before(function, "@functools.lru_cache(maxsize=None)")]


def _functions(host: Host) -> Iterator[tuple[ast.FunctionDef, list[ast.expr]]]:
    for function in host.nodes(*Function):
        if function.decorator_list and [ast.unparse(d) for d in function.decorator_list] != ["property"]:
            continue
        if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(function)):
            continue
        returns = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
        if not returns or not all(host.fact(r.value).history for r in returns):
            continue
        calls: list[ast.expr] = [
            c
            for c in host.nodes(ast.Call)
            if host.fact(c).history and _called(c.func) == function.name and host.fact(c).count > 2
        ]
        if function.decorator_list:
            calls = [a for a in host.nodes(ast.Attribute) if a.attr == function.name and host.fact(a).history]
        if calls and not any(isinstance(a, (ast.JoinedStr,)) for c in calls for a in host.around(c)):
            yield function, calls


def _called(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def twins(host: Host) -> Iterator[Change]:
    """The cache is emptied before every use."""
    for function, calls in _functions(host):
        if function.decorator_list or isinstance(host.parent(function), ast.ClassDef):
            continue
        clear = f"{function.name}.cache_clear()"
        statements = {id(s): s for c in calls if (s := host.statement(c)) is not None}
        simple = [s for s in statements.values() if isinstance(s, (ast.Assign, ast.Return, ast.Expr, ast.AugAssign))]
        same_file = all(host.file(s) == host.file(function) for s in simple)
        if simple and len(simple) == len(statements) and same_file and all(host.alone(s) for s in simple):
            if any(isinstance(a, (*Loop, *Function)) for s in simple for a in host.around(s)):
                edits = [*_cached(host, function), *(host.before(s, clear) for s in simple)]
                yield Change(where(host, function), tuple(edits))
