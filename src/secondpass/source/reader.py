# SPDX-License-Identifier: BSD-3-Clause
"""A file of the user's, parsed once: its statements by line, the loops and functions around them, what they assign."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property, lru_cache

__all__ = ["Source", "assigned", "expression", "heads", "names_in", "parsed", "reads"]

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Loop = (ast.For, ast.AsyncFor, ast.While)


@lru_cache(maxsize=64)
def parsed(text: str) -> Source | None:
    """A file from its text; None where it is not Python."""
    try:
        return Source(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return None


def names_in(node: ast.AST | None) -> set[str]:
    """The plain names that an expression reads."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if node is not None else set()


def reads(node: ast.AST) -> list[str]:
    """The names and attributes that an expression reads; what is assigned or called is not read."""
    called = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    return [
        ast.unparse(n)
        for n in ast.walk(node)
        if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load) and id(n) not in called
    ]


class Source:
    """One parsed file."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree

    @cached_property
    def _index(self) -> tuple[list[ast.stmt | None], dict[ast.stmt, ast.stmt | None]]:
        """The innermost statement at every line, and the statement around each statement."""
        last = max((s.end_lineno or s.lineno for s in self.tree.body), default=0)
        at: list[ast.stmt | None] = [None] * (last + 1)
        around: dict[ast.stmt, ast.stmt | None] = {}
        todo: list[tuple[ast.stmt, ast.stmt | None]] = [(s, None) for s in reversed(self.tree.body)]
        while todo:
            stmt, outer = todo.pop()
            around[stmt] = outer
            first, end = _first(stmt), stmt.end_lineno or stmt.lineno
            for line in range(first, end + 1):
                # Of two statements on one line the first is meant, unless one is inside the other.
                if at[line] is None or at[line] is outer:
                    at[line] = stmt
            inner = [s for part in _bodies(stmt) for s in part]
            todo += [(s, stmt) for s in reversed(inner)]
        return at, around

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """Every statement, in the order of the source."""
        return list(self._index[1])

    @cached_property
    def imported(self) -> set[str]:
        """The names that imports bind."""
        found = (a for s in self.statements if isinstance(s, (ast.Import, ast.ImportFrom)) for a in s.names)
        return {(a.asname or a.name).partition(".")[0] for a in found}

    def is_imported(self, node: ast.AST) -> bool:
        """Whether a chain of names starts at something imported: `F.mse_loss`."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.imported

    @cached_property
    def functions(self) -> dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]]:
        """The functions by their name."""
        found: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        for stmt in self.statements:
            if isinstance(stmt, Function):
                found.setdefault(stmt.name, []).append(stmt)
        return found

    @cached_property
    def targets_written(self) -> dict[str, list[ast.stmt]]:
        """The statements that assign each target, by how the source writes it."""
        found: dict[str, list[ast.stmt]] = {}
        for stmt in self.statements:
            for target in assigned(stmt):
                found.setdefault(ast.unparse(target), []).append(stmt)
        return found

    def statement(self, line: int, column: int | None = None) -> ast.stmt | None:
        """The innermost statement at a line; of several on one line the first, or the one that begins at a column."""
        at = self._index[0]
        found = at[line] if 0 < line < len(at) else None
        if found is None or column is None or found.col_offset == column:
            return found
        return next((s for s in self.beside(found) if s.col_offset == column), found)

    def beside(self, stmt: ast.stmt) -> Iterator[ast.stmt]:
        """The statements that begin on the same line, itself included."""
        outer = self._index[1].get(stmt)
        for block in _bodies(outer) if outer is not None else [self.tree.body]:
            yield from (s for s in block if s.lineno == stmt.lineno)

    def path(self, line: int) -> list[ast.stmt]:
        """The statements around a line, outermost first."""
        found: list[ast.stmt] = []
        stmt = self.statement(line)
        while stmt is not None:
            found.append(stmt)
            stmt = self._index[1][stmt]
        return found[::-1]

    def around(self, stmt: ast.stmt) -> Iterator[ast.stmt]:
        """The statements around a statement, innermost first."""
        outer = self._index[1].get(stmt)
        while outer is not None:
            yield outer
            outer = self._index[1][outer]

    def loops(self, line: int) -> list[ast.stmt]:
        """The loops around a line within its function, innermost first."""
        found: list[ast.stmt] = []
        for stmt in self.path(line):
            if isinstance(stmt, (*Function, ast.ClassDef)):
                found = []
            elif isinstance(stmt, Loop) and stmt.lineno != line:
                found.append(stmt)
        return found[::-1]

    def function(self, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Module:
        """The function (or module) around a line."""
        for stmt in reversed(self.path(line)):
            if isinstance(stmt, Function) and stmt.lineno != line:
                return stmt
        return self.tree

    def function_name(self, line: int) -> str:
        return getattr(self.function(line), "name", "<module>")

    def targets(self, line: int) -> list[str]:
        """What the statement at a line assigns, as the source writes it."""
        stmt = self.statement(line)
        return [ast.unparse(t) for t in assigned(stmt)] if stmt is not None else []

    def calls(self, line: int) -> Iterator[ast.Call]:
        """The calls in the statement at a line (its head only, for a compound statement)."""
        stmt = self.statement(line)
        for part in heads(stmt) if stmt is not None else ():
            yield from (n for n in ast.walk(part) if isinstance(n, ast.Call))

    def text(self, line: int) -> str:
        """The first line of the statement at a line."""
        stmt = self.statement(line)
        return ast.unparse(stmt).partition("\n")[0] if stmt is not None else ""


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
    if isinstance(stmt, (*Function, ast.ClassDef)):
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
