# SPDX-License-Identifier: BSD-3-Clause
"""Loads the user's files so that every statement leaves a mark: exact lines for every node.

The source is parsed, marked and compiled under its own name; lines, names, docstrings and tracebacks are those of a
plain run. What cannot be read or marked is loaded as if we were not there.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from ..source import uncollected
from .libraries import library_of
from .log import END, ENTER, ENTRY, LOOP, MARK, STATEMENT, Log, Statement

__all__ = ["Finder", "compile_marked"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Functions that others compile from their bytecode or forbid to call anything unknown: a mark would break them.
# (`compile` is torch's: a region is one node, and a graph break in the block that a mark at the end needs would send the
# whole function back to eager mode.)
_COMPILED = {
    "compile", "jit", "njit", "vectorize", "guvectorize", "stencil", "cfunc", "jitclass", "generated_jit", "kernel",
}  # fmt: skip
_OUTSIDE = {"site-packages", "dist-packages", ".venv", "venv", "node_modules"}


def compile_marked(source: bytes | str, file: str, log: Log, shown: str | None = None) -> CodeType:
    """Compiles a file with a mark before each statement; places carry the name `shown`."""
    tree = ast.parse(source, file)
    _Marker(log, shown or file).module(tree)
    return compile(tree, file, "exec", dont_inherit=True)


class _Mark(ast.Expr):
    """The call of a mark."""

    value: ast.Call


def _join(enter: _Mark, body: list[ast.stmt]) -> list[ast.stmt]:
    """The body behind the mark of its beginning. Nothing happens before its first statement: one call marks both."""
    if body and isinstance(body[0], _Mark) and len(body[0].value.args) == 1:
        enter.value.args[1] = body[0].value.args[0]
        body = body[1:]
    return body


class _Marker:
    def __init__(self, log: Log, file: str) -> None:
        self.log, self.file = log, file
        self.function = "<module>"
        self.loops: tuple[int, ...] = ()

    def module(self, tree: ast.Module) -> None:
        tree.body = self.body(tree.body, head=True)

    def mark(self, kind: int, at: ast.AST) -> _Mark:
        line, column = getattr(at, "lineno", 1), getattr(at, "col_offset", 0)
        i = self.log.add(Statement(kind, self.file, line, self.function, self.loops, column))
        # One line only: a mark that spanned a whole block would shift what debuggers show.
        here = {"lineno": line, "col_offset": column, "end_lineno": line, "end_col_offset": column}
        entering = kind in (ENTRY, LOOP)
        function = ast.Name(ENTER if entering else MARK, ast.Load(), **here)
        arguments: list[ast.expr] = [ast.Constant(k, None, **here) for k in ((i, 0) if entering else (i,))]
        return _Mark(ast.Call(function, arguments, [], **here), **here)

    def body(self, body: list[ast.stmt], head: bool = False) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for k, stmt in enumerate(body):
            docstring = head and k == 0 and isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)
            future = isinstance(stmt, ast.ImportFrom) and stmt.module == "__future__"
            if docstring or future:
                out.append(stmt)
                continue
            if not isinstance(stmt, (ast.Global, ast.Nonlocal)):
                out.append(self.mark(STATEMENT, stmt))
            self.inside(stmt)
            out.append(stmt)
        return out

    def inside(self, stmt: ast.stmt) -> None:
        if isinstance(stmt, _FUNCTIONS):
            if not any(_last_name(d) in _COMPILED for d in stmt.decorator_list):
                self.function_body(stmt)
        elif isinstance(stmt, ast.ClassDef):
            outer, self.function = self.function, f"{self._prefix()}{stmt.name}"
            loops, self.loops = self.loops, ()
            # No marks between its statements: a class body may run in a namespace that answers to every name.
            for inner in stmt.body:
                self.inside(inner)
            self.function, self.loops = outer, loops
        elif isinstance(stmt, (ast.For, ast.AsyncFor, ast.While)):
            begin = self.mark(LOOP, stmt)
            loops = self.loops
            self.loops = (len(self.log.statements) - 1, *loops)
            stmt.body = [begin, *_join(begin, self.body(stmt.body))]
            self.loops = loops
            stmt.orelse = self.body(stmt.orelse)
            if _computes(stmt):
                # The test, or the next item, is computed after the body without a mark of its own; and it belongs to no
                # iteration: the next one has not begun.
                stmt.body.append(self.mark(STATEMENT, stmt))
        else:
            for field in ("body", "orelse", "finalbody"):
                nested = getattr(stmt, field, None)
                if isinstance(nested, list) and nested and isinstance(nested[0], ast.stmt):
                    setattr(stmt, field, self.body(nested))
            for part in (*getattr(stmt, "handlers", ()), *getattr(stmt, "cases", ())):
                part.body = self.body(part.body)

    def _prefix(self) -> str:
        return "" if self.function == "<module>" else f"{self.function}."

    def function_body(self, stmt: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer, self.function = self.function, f"{self._prefix()}{stmt.name}"
        loops, self.loops = self.loops, ()
        head: list[ast.stmt] = []
        first = stmt.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            head, rest = [first], stmt.body[1:]
        else:
            rest = stmt.body
        body = self.body(rest)
        if not _yields(stmt) and body:
            entry = self.mark(ENTRY, rest[0])
            guarded = ast.Try(_join(entry, body), [], [], [self.mark(END, rest[-1])])
            ast.copy_location(guarded, rest[0])
            body = [entry, guarded]
        stmt.body = [*head, *body]
        self.function, self.loops = outer, loops


def _last_name(decorator: ast.expr) -> str:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _computes(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Whether something may be built between one turn of a loop and the next."""
    if isinstance(loop, ast.While):
        return any(isinstance(n, ast.Call) for n in ast.walk(loop.test))
    call = loop.iter
    return not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range")


def _yields(function: ast.AST) -> bool:
    """Whether a function is a generator (or a coroutine): it is left and entered again without our seeing it."""
    if isinstance(function, ast.AsyncFunctionDef):
        return True
    todo: list[ast.AST] = list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            return True
        if not isinstance(node, (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
            todo.extend(ast.iter_child_nodes(node))
    return False


class _Loader(importlib.machinery.SourceFileLoader):
    """A source loader whose code is marked. It reads and writes no cached bytecode."""

    def __init__(self, fullname: str, path: str, finder: Finder) -> None:
        super().__init__(fullname, path)
        self._finder = finder

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            with uncollected():
                return compile_marked(
                    self.get_data(self.path), self.path, self._finder.log, self._finder.shown(self.path)
                )
        except Exception:  # whatever is wrong with the file, the plain loader says it as the user knows it
            return super().get_code(fullname)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        # Here and not in `exec_module`: that would put a frame of ours into the tracebacks of imports.
        module = ModuleType(spec.name)
        module.__dict__.update(self._finder.log.names)
        return module


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules below the program's folder, so that they are loaded with marks."""

    def __init__(self, root: Path, log: Log, *, on_torch: Callable[[], None] | None = None, mark: bool = True) -> None:
        self.root, self.log, self.mark = root.resolve(), log, mark
        self._on_torch = on_torch

    def owns(self, file: str) -> bool:
        """Whether a file is the user's: below the folder, and not in an environment or a library that lies there."""
        try:
            parts = Path(file).resolve().relative_to(self.root).parts
        except (ValueError, OSError):
            return False
        return not _OUTSIDE.intersection(parts) and (len(parts) < 2 or not library_of(os.path.abspath(file)))

    def shown(self, file: str) -> str:
        """A file's name in places."""
        return str(Path(file).resolve())

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname.partition(".")[0] in ("torch", "numpy", "secondpass"):
            if fullname == "torch" and self._on_torch is not None:
                return _and_then(fullname, path, lambda module: self._torch_is_there())
            if fullname == "torch._dynamo.config" and self.mark:
                return _and_then(fullname, path, self.tell_dynamo)
            return None
        if not self.mark or (path is not None and not any(self.owns(entry) for entry in path)):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return None
        if type(spec.loader) is not importlib.machinery.SourceFileLoader or not spec.origin:
            return None
        if not self.owns(spec.origin):
            return None
        spec.loader = _Loader(fullname, spec.origin, self)
        return spec

    def _torch_is_there(self) -> None:
        done, self._on_torch = self._on_torch, None
        if done is not None:
            done()

    def tell_dynamo(self, module: ModuleType) -> None:
        """torch.compile steps over functions that it is told are for logging: a mark must not break a user's graph."""
        from .version import torch_version

        ignored = getattr(module, "ignore_logging_functions", None)
        # Versions before 2.13 that can be told (2.11 was seen) sort what they are told for a log of their own, and complain that
        # functions cannot be sorted.
        if ignored is not None and torch_version() >= (2, 13):
            ignored.update(self.log.names.values())
        else:
            from torch.compiler import is_dynamo_compiling

            self.log.hide_from_dynamo(is_dynamo_compiling)

    def install(self, *, first: bool = True) -> None:
        """`first`: before all others; else behind those that have more to say about a file than where it is (pytest's
        rewriting of assertions, say)."""
        last = next((i for i, f in enumerate(sys.meta_path) if f is importlib.machinery.PathFinder), len(sys.meta_path))
        sys.meta_path.insert(0 if first else last, self)
        if self.mark:
            # Functions whose code is given other globals still find the marks.
            vars(builtins).update(self.log.names)

    def remove(self) -> None:
        """Loads nothing any more; the marks that were laid still find their names."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def uninstall(self) -> None:
        self.remove()
        for name in self.log.names:
            vars(builtins).pop(name, None)


def _and_then(fullname: str, path: Sequence[str] | None, after: Callable[[ModuleType], None]) -> Any:
    """A library's module as it is, with something done once it has been loaded."""
    spec = importlib.machinery.PathFinder.find_spec(fullname, path)
    if spec is None or spec.loader is None:
        return spec
    plain = spec.loader.exec_module

    def exec_module(module: ModuleType) -> None:
        del spec.loader.exec_module  # type: ignore[union-attr]
        plain(module)
        after(module)

    spec.loader.exec_module = exec_module  # type: ignore[method-assign]
    return spec
