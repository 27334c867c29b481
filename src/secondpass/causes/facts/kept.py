# SPDX-License-Identifier: BSD-3-Clause
"""Values that are computed a single time and kept for good: what the source calls them."""

from __future__ import annotations

import ast

from ...record import Place, Trace
from ...source import Source, assigned, effects
from .lines import source_of, sources_of
from .meeting import Meeting

__all__ = ["added_to", "keeping_function", "kept_once", "made_if_missing"]


def keeping_function(meeting: Meeting) -> ast.FunctionDef | None:
    """The function around the entry whose results a decorator keeps and hands out again."""
    for place in meeting.entry.stack:
        source = source_of(meeting.trace, place)
        function = source.function(place.line) if source is not None else None
        if isinstance(function, ast.FunctionDef) and any(map(_keeps, function.decorator_list)):
            return function
    return None


def kept_once(meeting: Meeting) -> str:
    """What is computed a single time and kept for good, as the source writes it; "" where that cannot be told."""
    function = keeping_function(meeting)
    if function is not None:
        own = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
        method = own[:1] in (["self"], ["cls"])
        given = len(own) > method or function.args.vararg or function.args.kwarg
        # A reading ends where the first of the kept values comes again: that no other was asked for says nothing.
        if given and (meeting.again is not False or meeting.trace.producer == "check"):
            return ""  # one value for every argument: a store
        called = "(...)" if given else "()"
        if any(ast.unparse(d).endswith("cached_property") for d in function.decorator_list):
            called = ""
        return f"self.{function.name}{called}" if method else f"{function.name}{called}"
    for place in meeting.entry.stack:
        name = _under_condition(meeting.trace, place)
        if name:
            return name
    return ""


def _keeps(decorator: ast.expr) -> bool:
    call = decorator if isinstance(decorator, ast.Call) else ast.Call(decorator, [], [])
    return any(True for _ in effects(call, "cache"))


def _under_condition(trace: Trace, place: Place) -> str:
    """`if self.table is None: self.table = ...`"""
    source = source_of(trace, place)
    stmt = source.statement(place.line) if source is not None else None
    if source is None or stmt is None:
        return ""
    for target in assigned(stmt):
        if isinstance(target, ast.Attribute) and any(
            _asks_for(i.test, target) for i in _conditions(source, place.line)
        ):
            return ast.unparse(target)
    return ""


def _conditions(source: Source, line: int) -> list[ast.If]:
    return [
        s
        for s in source.path(line)
        if isinstance(s, ast.If) and any(b.lineno <= line <= (b.end_lineno or 0) for b in s.body)
    ]


def _asks_for(test: ast.expr, target: ast.Attribute) -> bool:
    """Whether a condition is that there is no value yet: `x is None`, `not x`, `not hasattr(self, "x")`."""
    name = ast.unparse(target)
    if isinstance(test, ast.Compare) and ast.unparse(test.left) == name and isinstance(test.ops[0], ast.Is):
        return isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        asked = ast.unparse(test.operand).replace('"', "'")
        return asked in (name, f"hasattr({ast.unparse(target.value)}, '{target.attr}')")
    return False


def added_to(meeting: Meeting) -> bool:
    """Whether the source only ever adds to the container that holds the entry: nothing in it is a place for the next value."""
    store = meeting.store
    if store is None:
        return False
    name = store.ways[-1].key if store.ways else store.root
    put = [e for _, s in sources_of(meeting.trace) for stmt in s.statements for e in effects(stmt, "store")]
    how = [e.how for e in put if e.target is not None and ast.unparse(e.target).rpartition(".")[2] == name]
    return bool(how) and "[...] =" not in how


def made_if_missing(meeting: Meeting) -> bool:
    """Whether a store is there to save computing: `if key not in cache: cache[key] = ...`."""
    for place in meeting.entry.stack:
        source = source_of(meeting.trace, place)
        stmt = source.statement(place.line) if source is not None else None
        stores = (
            [ast.unparse(t.value) for t in assigned(stmt) if isinstance(t, ast.Subscript)] if stmt is not None else []
        )
        for outer in source.path(place.line) if source is not None and stores else ():
            test = outer.test if isinstance(outer, ast.If) else None
            if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn):
                if ast.unparse(test.comparators[0]) in stores:
                    return True
    return False
