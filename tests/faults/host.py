# SPDX-License-Identifier: BSD-3-Clause
"""A right program, its syntax trees, and what a survey of one run saw: what operators choose their sites by."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .program import Edit, Program

__all__ = ["Fact", "Host", "names_read", "names_written"]

Loop = (ast.For, ast.While)
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Fact:
    """What an expression's values were."""

    count: int = 0
    kinds: tuple[str, ...] = ()
    scalar: bool = False
    type: str = ""
    op: str = ""
    leaves: frozenset[int] = frozenset()
    optimizer: int | None = None

    @property
    def history(self) -> bool:
        """Whether it was a tensor with history, at least once."""
        return "history" in self.kinds


_NOTHING = Fact()


class Host:
    """A program that was surveyed."""

    def __init__(self, program: Program, survey: dict[str, Any], result: list[float]) -> None:
        self.program, self.result = program, result
        self.events: list[dict[str, Any]] = survey["events"]
        self.random = set(survey["random"])
        self.ran: dict[str, int] = survey["ran"]
        self._facts = {
            tuple(row[:5]): Fact(
                count=f["count"],
                kinds=tuple(f["kinds"]),
                scalar=f["scalar"],
                type=f["type"],
                op=f.get("op", ""),
                leaves=frozenset(f.get("leaves", ())),
                optimizer=f.get("optimizer"),
            )
            for row in survey["facts"]
            for f in row[5:]
        }

        # Before anybody else has it: several threads must see the same nodes.
        self.trees = {f: ast.parse(t) for f, t in program.files.items()}

    @property
    def name(self) -> str:
        return self.program.name

    # -- syntax ----------------------------------------------------------------------------------------------------------

    @cached_property
    def _parents(self) -> dict[ast.AST, ast.AST]:
        return {c: p for t in self.trees.values() for p in ast.walk(t) for c in ast.iter_child_nodes(p)}

    @cached_property
    def _files(self) -> dict[ast.AST, str]:
        return {n: f for f, t in self.trees.items() for n in ast.walk(t)}

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return [n for t in self.trees.values() for n in ast.walk(t)]

    @cached_property
    def _starts(self) -> dict[str, list[int]]:
        """Offset of each line, in bytes."""
        found = {}
        for file, text in self.program.files.items():
            starts = [0]
            for row in text.encode().split(b"\n"):
                starts.append(starts[-1] + len(row) + 1)
            found[file] = starts
        return found

    def nodes(self, *kinds: type) -> Iterator[Any]:
        """Every node of some kinds, in the order of the source."""
        return (n for n in self._nodes if isinstance(n, kinds))

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def above(self, node: ast.AST, *kinds: type) -> Any:
        """The nearest node of some kinds around a node, within its function unless a function is asked for."""
        at = self._parents.get(node)
        while at is not None:
            if isinstance(at, kinds):
                return at
            if isinstance(at, (*Function, ast.Lambda, ast.ClassDef)):
                return None
            at = self._parents.get(at)
        return None

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        at = self._parents.get(node)
        while at is not None:
            yield at
            at = self._parents.get(at)

    def statement(self, node: ast.AST) -> Any:
        """The statement that a node stands in (itself, if it is one)."""
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.stmt):
            at = self._parents.get(at)
        return at

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement stands in."""
        parent = self._parents[statement]
        for field in ("body", "orelse", "finalbody"):
            part = getattr(parent, field, None)
            if isinstance(part, list) and statement in part:
                return part
        return [statement]

    def file(self, node: ast.AST) -> str:
        return self._files[node]

    def fact(self, node: Any) -> Fact:
        """What was seen of an expression."""
        where = (self._files[node], node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        return self._facts.get(where, _NOTHING)

    def ran_times(self, statement: ast.stmt) -> int:
        return self.ran.get(f"{self._files[statement]}:{statement.lineno}", 0)

    def draws(self, statement: ast.stmt) -> bool:
        """Whether a statement used up random numbers."""
        return f"{self._files[statement]}:{statement.lineno}" in self.random

    # -- text ------------------------------------------------------------------------------------------------------------

    def _offset(self, file: str, row: int, column: int) -> int:
        data = self.program.files[file].encode()
        return len(data[: self._starts[file][row - 1] + column].decode())

    def span(self, node: Any) -> tuple[int, int]:
        """Offsets of a node in its file."""
        file = self._files[node]
        return (
            self._offset(file, node.lineno, node.col_offset),
            self._offset(file, node.end_lineno, node.end_col_offset),
        )

    def text(self, node: Any) -> str:
        start, end = self.span(node)
        return self.program.files[self._files[node]][start:end]

    def rows(self, *statements: ast.stmt) -> tuple[int, int]:
        """Offsets of the whole lines of neighbouring statements, last newline included."""
        file = self._files[statements[0]]
        start = self._offset(file, statements[0].lineno, 0)
        end = self._offset(file, max(s.end_lineno or 0 for s in statements) + 1, 0)
        return start, min(end, len(self.program.files[file]))

    def alone(self, *statements: ast.stmt) -> bool:
        """Whether statements have their lines for themselves."""
        file = self._files[statements[0]]
        start, end = self.rows(*statements)
        text = self.program.files[file]
        first, last = self.span(statements[0])[0], self.span(statements[-1])[1]
        return not text[start:first].strip() and not text[last:end].split("#")[0].strip()

    def indent(self, statement: ast.stmt) -> str:
        return " " * statement.col_offset

    # -- edits -----------------------------------------------------------------------------------------------------------

    def replace(self, node: Any, new: str) -> Edit:
        return Edit(self._files[node], *self.span(node), new)

    def delete(self, *statements: ast.stmt) -> Edit:
        """Takes whole statements out; a block that they alone make keeps a `pass`."""
        start, end = self.rows(*statements)
        block = self.block(statements[0])
        left = f"{self.indent(statements[0])}pass\n" if len(block) == len(statements) else ""
        return Edit(self._files[statements[0]], start, end, left)

    def before(self, statement: ast.stmt, *lines: str) -> Edit:
        """Inserts lines before a statement, indented as it is."""
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        at = self._offset(self._files[statement], first, 0)
        return Edit(self._files[statement], at, at, _indented(lines, self.indent(statement)))

    def after(self, statement: ast.stmt, *lines: str, indent: str | None = None) -> Edit:
        file = self._files[statement]
        at = self.rows(statement)[1]
        text = self.program.files[file]
        head = "" if text[:at].endswith("\n") else "\n"
        return Edit(file, at, at, head + _indented(lines, self.indent(statement) if indent is None else indent))

    def mark(self, node: Any, mark: str) -> Edit:
        """Puts a mark in front of a node."""
        at = self.span(node)[0]
        return Edit(self._files[node], at, at, mark)

    def moved(self, statements: list[ast.stmt], before: ast.stmt) -> list[Edit]:
        """Moves whole statements up in front of another, with its indentation."""
        text = self.program.files[self._files[before]]
        start, end = self.rows(*statements)
        old, new = self.indent(statements[0]), self.indent(before)
        rows = [r.removeprefix(old) for r in text[start:end].rstrip("\n").split("\n")]
        return [self.before(before, *[new[:0] + r for r in rows]), self.delete(*statements)]

    # -- what people would call these things -----------------------------------------------------------------------------

    def method_calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls `x.name(...)` that ran."""
        for call in self.nodes(ast.Call):
            if isinstance(call.func, ast.Attribute) and call.func.attr in names and self.fact(call).count:
                yield call

    @cached_property
    def pass_lines(self) -> set[tuple[str, int]]:
        """The innermost lines of the program that passes started from."""
        return {tuple(e["stack"][0]) for e in self.events if e["what"] == "pass" and e["stack"]}

    def backwards(self) -> list[ast.Call]:
        """Calls `x.backward(...)` of tensors."""
        return [c for c in self.method_calls("backward") if self.fact(c.func.value).history]  # type: ignore[attr-defined]

    def steps(self) -> list[ast.Call]:
        """Calls `optimizer.step()` without a closure."""
        calls = self.method_calls("step")
        return [c for c in calls if "optimizer" in self.fact(c.func.value).kinds and not c.args and not c.keywords]  # type: ignore[attr-defined]

    def clears(self) -> list[ast.Call]:
        """Calls `x.zero_grad()` of optimizers and modules."""
        calls = self.method_calls("zero_grad")
        return [c for c in calls if {"optimizer", "module"} & set(self.fact(c.func.value).kinds)]  # type: ignore[attr-defined]

    def owned(self) -> list[frozenset[int]]:
        """The leaves of each optimizer that stepped, by its number."""
        found: dict[int, frozenset[int]] = {}
        for e in self.events:
            if e["what"] == "step":
                found[e["optimizer"]] = frozenset(e["leaves"])
        return [found[k] for k in sorted(found)]

    def own_statement(self, call: ast.Call) -> ast.stmt | None:
        """The statement that is nothing but a call, on lines of its own."""
        parent = self.parent(call)
        return parent if isinstance(parent, ast.Expr) and self.alone(parent) else None


def _indented(lines: Iterable[str], indent: str) -> str:
    return "".join(f"{indent}{row}\n" if row else "\n" for one in lines for row in one.split("\n"))


def names_read(node: ast.AST) -> set[str]:
    """Names and dotted names that code reads."""
    found = set()
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
            found.add(n.id)
        elif isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load):
            found.add(ast.unparse(n))
    return found


def names_written(node: ast.AST) -> set[str]:
    """Names and dotted names that code binds; what is stored into by index counts too."""
    found = set()
    for n in ast.walk(node):
        if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, (ast.Store, ast.Del)):
            found.add(ast.unparse(n))
        elif isinstance(n, ast.Subscript) and isinstance(n.ctx, (ast.Store, ast.Del)):
            found.add(ast.unparse(n.value))
        elif isinstance(n, Function):
            found.add(n.name)
    return found
