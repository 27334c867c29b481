# SPDX-License-Identifier: BSD-3-Clause
"""Reading the user's source around a place: what a statement assigns, which loops stand around it, what flows where."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from ..record import Place, Trace

__all__ = ["Source", "names_in", "source_of", "sources_of"]


@lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def source_of(trace: Trace, place: Place | None) -> Source | None:
    """The source that a place stands in, where it is known and can be read."""
    if place is None:
        return None
    text = trace.sources.get(place.file)
    tree = _parsed(text) if text else None
    return Source(tree) if tree is not None else None


def sources_of(trace: Trace) -> Iterator[tuple[str, Source]]:
    """Every file of the program that can be read."""
    for file, text in trace.sources.items():
        tree = _parsed(text)
        if tree is not None:
            yield file, Source(tree)


def names_in(node: ast.AST | None) -> set[str]:
    """The plain names that an expression reads."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if node is not None else set()


class Source:
    """One parsed file."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree

    def path(self, line: int) -> list[ast.stmt]:
        """The statements around a line, outermost first."""
        found: list[ast.stmt] = []
        body: list[ast.stmt] = self.tree.body
        while True:
            inner = next((s for s in body if _first(s) <= line <= (s.end_lineno or s.lineno)), None)
            if inner is None:
                return found
            found.append(inner)
            body = [s for part in _bodies(inner) for s in part]

    def statement(self, line: int) -> ast.stmt | None:
        """The innermost statement at a line."""
        path = self.path(line)
        return path[-1] if path else None

    def loops(self, line: int) -> list[ast.stmt]:
        """The loops around a line within its function, innermost first."""
        found: list[ast.stmt] = []
        for stmt in self.path(line):
            if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found = []
            elif isinstance(stmt, (ast.For, ast.AsyncFor, ast.While)) and stmt.lineno != line:
                found.append(stmt)
        return found[::-1]

    def function(self, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Module:
        """The function (or module) around a line."""
        for stmt in reversed(self.path(line)):
            if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef)) and stmt.lineno != line:
                return stmt
        return self.tree

    def targets(self, line: int) -> list[str]:
        """What the statement at a line assigns, as the source writes it."""
        stmt = self.statement(line)
        return [ast.unparse(t) for t in assigned(stmt)] if stmt is not None else []

    def calls(self, line: int) -> Iterator[ast.Call]:
        """The calls in the statement at a line (its head only, for a compound statement)."""
        stmt = self.statement(line)
        if stmt is not None:
            for part in heads(stmt):
                yield from (n for n in ast.walk(part) if isinstance(n, ast.Call))

    def text(self, line: int) -> str:
        """The first line of the statement at a line."""
        stmt = self.statement(line)
        return ast.unparse(stmt).partition("\n")[0] if stmt is not None else ""

    def root(self, line: int) -> ast.expr | None:
        """The expression that the pass at a line starts from: the `x` of `x.backward()` and of `grad(x, ...)`."""
        for call in self.calls(line):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
                owner = call.func.value
                plain = isinstance(owner, (ast.Name, ast.Attribute)) and ast.unparse(owner).endswith("autograd")
                if call.args and (plain or _is_engine(owner)):
                    return call.args[0]
                if isinstance(owner, ast.Call) and _is_scaling(owner) and owner.args:
                    return owner.args[0]
                return owner
        for call in self.calls(line):
            name = ast.unparse(call.func).rpartition(".")[2]
            if name in ("grad", "backward"):
                return call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "outputs"), None)
        return None


def _is_engine(owner: ast.expr) -> bool:
    """`accelerator.backward(loss)`, `self.manual_backward(loss)`: the owner is no loss when an argument is given."""
    return isinstance(owner, (ast.Name, ast.Attribute))


def _is_scaling(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "scale"


def _first(stmt: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(stmt, "decorator_list", [])
    return min([stmt.lineno, *(d.lineno for d in decorators)])


def _bodies(stmt: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        part = getattr(stmt, field, None)
        if isinstance(part, list):
            yield part
    for handler in (*getattr(stmt, "handlers", ()), *getattr(stmt, "cases", ())):
        yield handler.body


def heads(stmt: ast.stmt) -> list[ast.AST]:
    """The parts of a statement that belong to its own line, without the bodies inside it."""
    if isinstance(stmt, (ast.For, ast.AsyncFor)):
        return [stmt.target, stmt.iter]
    if isinstance(stmt, (ast.While, ast.If)):
        return [stmt.test]
    if isinstance(stmt, (ast.With, ast.AsyncWith)):
        return [i.context_expr for i in stmt.items]
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return list(stmt.decorator_list)
    if isinstance(stmt, (ast.Try, ast.Match)):
        return []
    return [stmt]


def assigned(stmt: ast.stmt) -> list[ast.expr]:
    """The targets of a statement, tuples taken apart."""
    if isinstance(stmt, ast.Assign):
        found = list(stmt.targets)
    elif isinstance(stmt, (ast.AugAssign, ast.AnnAssign, ast.For, ast.AsyncFor)):
        found = [stmt.target]
    else:
        return []
    flat: list[ast.expr] = []
    while found:
        target = found.pop(0)
        if isinstance(target, (ast.Tuple, ast.List)):
            found = [*target.elts, *found]
        elif isinstance(target, ast.Starred):
            found = [target.value, *found]
        else:
            flat.append(target)
    return flat


def expression(node: ast.AST | None) -> str:
    """An expression as text, or ""."""
    return ast.unparse(node) if node is not None else ""
