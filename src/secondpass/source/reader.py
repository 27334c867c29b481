# SPDX-License-Identifier: BSD-3-Clause
"""A file of the user's, parsed once: its statements by line, the loops and functions around them, what they assign."""

from __future__ import annotations

import ast
import gc
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import ClassVar
from weakref import WeakSet

__all__ = [
    "Source",
    "assigned",
    "expression",
    "given",
    "heads",
    "joined",
    "long_files",
    "names_in",
    "parsed",
    "reads",
    "uncollected",
]

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Loop = (ast.For, ast.AsyncFor, ast.While)
_HELD = 64
_LONG = 2000


@contextmanager
def uncollected() -> Iterator[None]:
    """Where a long file is parsed: a tree has no cycles, but so many new objects that garbage would be looked for among all
    that the program has. Where other threads might see it, nothing is held up."""
    paused = gc.isenabled() and threading.active_count() == 1
    if paused:
        gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


@lru_cache(maxsize=64)
def parsed(text: str) -> Source | None:
    """A file from its text; None where it is not Python."""
    try:
        with uncollected():
            return Source(ast.parse(text), text)
    except (SyntaxError, ValueError, RecursionError):
        return None


class _Long:
    """The long files that are parsed."""

    sources: ClassVar[WeakSet[Source]] = WeakSet()


def long_files() -> list[Source]:
    """The long files that are parsed."""
    return list(_Long.sources)


class _Joined:
    """The texts that were made from lists of lines, with those lists: an identity is its own while its list is held."""

    held: ClassVar[OrderedDict[int, tuple[list[str], str]]] = OrderedDict()


def joined(lines: list[str]) -> str:
    """The text of a file from its lines: one string for one list, so that whoever asks for the file at every statement
    neither joins nor hashes nor parses it again."""
    known = _Joined.held.get(id(lines))
    if known is not None and known[0] is lines:
        return known[1]
    text = "".join(lines)
    _Joined.held[id(lines)] = lines, text
    if len(_Joined.held) > _HELD:
        _Joined.held.popitem(last=False)
    return text


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


@lru_cache(maxsize=4096)  # values are followed through the same few lines for every pass
def texts_read(node: ast.AST) -> frozenset[str]:
    """The names, attributes, entries and calls in a tree, as they are written; what is assigned there is not read."""
    return frozenset(
        ast.unparse(n)
        for n in ast.walk(node)
        if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
        and not isinstance(getattr(n, "ctx", None), ast.Store)
    )


class Source:
    """One parsed file.

    NOTE [ Long files ]
    1. A tree of ten thousand lines is some hundred thousand objects, and every collection of garbage in the user's program
       would walk through them. So of a long file the bodies of functions are thrown away again, and parsed one by one when
       a line in them is asked for, until the judgement is over that needs it (`close_long_files`).
    2. What is asked of the whole file (`tree`, `statements`, `functions`) opens all of them; what can be asked by line or
       by name is better asked so.
    """

    def __init__(self, tree: ast.Module, text: str = "") -> None:
        self.module = tree
        """The tree, in which functions of a long file may have no body yet: see the note."""
        self._lines: list[str] = []
        self._closed: dict[int, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        """The functions without a body, by each of their lines."""
        self._opened: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        """Those that have got it."""
        self._with: dict[tuple[str, ...], list[int]] = {}
        """What `lines_with` has answered."""
        self._functions: dict[int, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module] = {}
        """What `function` has answered: judgements ask it of every statement that ran."""
        if text.count("\n") >= _LONG:
            self._lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            _ = self.imported, self._called
            _Long.sources.add(self)
            todo: list[ast.stmt] = list(tree.body)
            for stmt in todo:
                if isinstance(stmt, ast.ClassDef):
                    todo += stmt.body
                elif isinstance(stmt, Function) and (stmt.end_lineno or 0) > stmt.lineno + 1:
                    self._opened.append(stmt)
            self.close()

    @property
    def is_open(self) -> bool:
        """Whether a body that was thrown away has been parsed again."""
        return bool(self._opened)

    def close(self) -> None:
        """Throws the bodies away: from here on other objects stand for the same statements."""
        self.__dict__.pop("_index", None)
        self.__dict__.pop("statements", None)
        self._functions = {}
        for function in self._opened:
            function.body = []
            self._closed.update(dict.fromkeys(range(_first(function), (function.end_lineno or 0) + 1), function))
        self._opened = []

    def _open(self, line: int) -> None:
        """Sees to it that the function around a line has its body."""
        function = self._closed.get(line)
        if function is None:
            return
        first, last = _first(function), function.end_lineno or 0
        text = "\n".join(self._lines[first - 1 : last])
        above = "\n" * (first - 1) if not function.col_offset else "\n" * (first - 2) + "if 1:\n"
        body = ast.parse(above + text).body
        whole = body[0].body[0] if isinstance(body[0], ast.If) else body[0]
        assert isinstance(whole, Function)
        function.body = whole.body
        self._opened.append(function)
        if "_index" in self.__dict__:
            self._enter([(s, function) for s in reversed(function.body)], *self._index)
        for inside in range(first, last + 1):
            self._closed.pop(inside, None)

    @property
    def tree(self) -> ast.Module:
        """The whole of it."""
        while self._closed:
            self._open(next(iter(self._closed)))
        return self.module

    @cached_property
    def _index(self) -> tuple[list[ast.stmt | None], dict[ast.stmt, ast.stmt | None]]:
        """The innermost statement at every line, and the statement around each statement."""
        last = max((s.end_lineno or s.lineno for s in self.module.body), default=0)
        index: tuple[list[ast.stmt | None], dict[ast.stmt, ast.stmt | None]] = [None] * (last + 1), {}
        self._enter([(s, None) for s in reversed(self.module.body)], *index)
        return index

    def _enter(
        self,
        todo: list[tuple[ast.stmt, ast.stmt | None]],
        at: list[ast.stmt | None],
        around: dict[ast.stmt, ast.stmt | None],
    ) -> None:
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

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """Every statement, in the order of the source."""
        return list(_statements(self.tree.body))

    @cached_property
    def imported(self) -> dict[str, str]:
        """The names that imports bind, and what each stands for: `F` for `torch.nn.functional`."""
        found = dict[str, str]()
        for stmt in _statements(self.module.body):
            for a in stmt.names if isinstance(stmt, (ast.Import, ast.ImportFrom)) else ():
                name = a.asname or a.name
                home = f"{stmt.module or '.'}.{a.name}" if isinstance(stmt, ast.ImportFrom) else a.name
                found[name.partition(".")[0]] = (
                    home if a.asname or isinstance(stmt, ast.ImportFrom) else a.name.partition(".")[0]
                )
        return found

    def home(self, node: ast.AST) -> str:
        """What a chain of names that starts at something imported stands for, in full: `torch.nn.functional.mse_loss`; else ""."""
        last: list[str] = []
        while isinstance(node, ast.Attribute):
            last.append(node.attr)
            node = node.value
        known = self.imported.get(node.id) if isinstance(node, ast.Name) else None
        return ".".join([known, *reversed(last)]) if known is not None else ""

    def is_imported(self, node: ast.AST) -> bool:
        """Whether a chain of names starts at something imported: `F.mse_loss`."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.imported

    @cached_property
    def _called(self) -> dict[str, tuple[int, ...]]:
        """The lines of the functions of each name."""
        found: dict[str, tuple[int, ...]] = {}
        for stmt in _statements(self.module.body):
            if isinstance(stmt, Function):
                found[stmt.name] = (*found.get(stmt.name, ()), stmt.lineno)
        return found

    def functions(self, name: str | None = None) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions of a name, or all."""
        lines = (
            self._called.get(name, ()) if name is not None else (n for lines in self._called.values() for n in lines)
        )
        return [s for line in lines for s in self.beginning(line) if isinstance(s, Function)]

    @cached_property
    def _written(self) -> dict[str, tuple[int, ...]]:
        """The lines of the statements that assign each target, by how the source writes it."""
        found: dict[str, tuple[int, ...]] = {}
        with uncollected():
            for stmt in _statements(self._whole().body):
                for target in assigned(stmt):
                    text = ast.unparse(target)
                    found[text] = (*found.get(text, ()), stmt.lineno)
        return found

    def writes(self, target: str) -> list[ast.stmt]:
        """The statements that assign a target, given as the source writes it."""
        found: list[ast.stmt] = []
        for line in dict.fromkeys(self._written.get(target, ())):
            found += [s for s in self.beginning(line) if any(ast.unparse(t) == target for t in assigned(s))]
        return found

    def lines_with(self, attributes: tuple[str, ...]) -> list[int]:
        """The lines at which an attribute is read whose name begins in one of some ways."""
        if attributes not in self._with:
            nodes = (n for n in ast.walk(self._whole()) if isinstance(n, ast.Attribute))
            self._with[attributes] = sorted({n.lineno for n in nodes if n.attr.startswith(attributes)})
        return self._with[attributes]

    def _whole(self) -> ast.Module:
        """The whole tree, for a moment."""
        return ast.parse("\n".join(self._lines)) if self._closed else self.module

    def beginning(self, line: int) -> list[ast.stmt]:
        """The statements that begin at a line."""
        first = self._at(line)
        here = _statements(self.beside(first)) if first is not None else ()
        return [s for s in here if s.lineno == line]

    def _at(self, line: int) -> ast.stmt | None:
        """The outermost statement that begins at a line."""
        return next((s for s in self.path(line) if s.lineno == line), None)

    def statement(self, line: int, column: int | None = None) -> ast.stmt | None:
        """The innermost statement at a line; of several on one line the first, or the one that begins at a column."""
        self._open(line)
        at = self._index[0]
        found = at[line] if 0 < line < len(at) else None
        if found is None or column is None or found.col_offset == column:
            return found
        return next((s for s in self.beside(found) if s.col_offset == column), found)

    def beside(self, stmt: ast.stmt) -> Iterator[ast.stmt]:
        """The statements that begin on the same line, itself included."""
        outer = self._index[1].get(stmt)
        for block in _bodies(outer) if outer is not None else [self.module.body]:
            yield from (s for s in block if s.lineno == stmt.lineno)

    def path(self, line: int) -> list[ast.stmt]:
        """The statements around a line, outermost first."""
        found: list[ast.stmt] = []
        stmt = self.statement(line)
        while stmt is not None:
            found.append(stmt)
            stmt = self._index[1].get(stmt)
        return found[::-1]

    def around(self, stmt: ast.stmt) -> Iterator[ast.stmt]:
        """The statements around a statement, innermost first."""
        outer = self._index[1].get(stmt)
        while outer is not None:
            yield outer
            outer = self._index[1].get(outer)

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
        if line not in self._functions:
            around = (s for s in reversed(self.path(line)) if isinstance(s, Function) and s.lineno != line)
            self._functions[line] = next(around, self.module)
        return self._functions[line]

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


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Some statements and all that is in them, in the order of the source."""
    todo = list(body)[::-1]
    while todo:
        stmt = todo.pop()
        yield stmt
        todo += [s for part in _bodies(stmt) for s in part][::-1]


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


def given(stmt: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """What a plain assignment gives to which target: `a, b = c, d` gives one to each."""
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
        return []
    target, value = stmt.targets[0], stmt.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


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
