# SPDX-License-Identifier: BSD-3-Clause
"""One source file as a tree with positions: statements, blocks, loops, functions, and the text behind each.

NOTE [ Text is never printed from the tree ]
1. The tree (libcst) says where a statement or an expression begins and ends; edits replace exactly that stretch.
2. So comments, quotes, line endings and odd spacing survive by construction, also inside a moved statement.
3. So, too, the tree may differ from the text: what stands on a head's own line (`if done: break`) is a block in it, as if it
   stood below, and nobody who looks for statements has to know. What is inserted next to it moves it there (`Patch`).
"""

from __future__ import annotations

import dataclasses
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

__all__ = ["Source", "Unreadable", "children", "walk"]

Loop = cst.For | cst.While
_NEWLINE = re.compile(r"\r\n|\r|\n")


_SPACE = {
    "leading_lines", "trailing_whitespace", "header", "footer", "lines_after_decorators", "comma", "lpar", "rpar",
    "semicolon",
}  # fmt: skip


class Unreadable(ValueError):
    """The text is not Python that we can parse."""


@dataclass(frozen=True)
class Span:
    """A stretch of text, by offsets."""

    start: int
    end: int


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The direct children of a node, whitespace left out.

    libcst's own `children` rebuilds the node on every call: a hundred times slower.
    """
    found: list[cst.CSTNode] = []
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            found.append(value)
        elif isinstance(value, list | tuple):
            found.extend(v for v in value if isinstance(v, cst.CSTNode))
    return found


@cache
def _fields(kind: type) -> tuple[str, ...]:
    names = (f.name for f in dataclasses.fields(kind))
    return tuple(n for n in names if not n.startswith("whitespace") and n not in _SPACE)


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and everything below it, in the order of the text."""
    todo = [node]
    while todo:
        here = todo.pop()
        yield here
        todo.extend(reversed(children(here)))


class Source:
    """A parsed file."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        try:
            wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
            self._positions = wrapper.resolve(PositionProvider)
        except Exception as fault:  # libcst raises its own errors, RecursionError, and bare Exceptions
            raise Unreadable(f"{file}: {str(fault).splitlines()[0] if str(fault) else type(fault).__name__}") from fault
        self.module = wrapper.module
        self._spread()
        self.parent: dict[cst.CSTNode, cst.CSTNode] = {}
        todo: list[cst.CSTNode] = [self.module]
        while todo:
            node = todo.pop()
            for child in children(node):
                self.parent[child] = node
                todo.append(child)
        self._starts = [0, *(m.end() for m in _NEWLINE.finditer(text))]

    def _spread(self) -> None:
        """Rule 3."""
        suites = [n for n in walk(self.module) if isinstance(getattr(n, "body", None), cst.SimpleStatementSuite)]
        self._positions = dict(self._positions) if suites else self._positions
        for head in suites:
            suite: cst.SimpleStatementSuite = head.body  # type: ignore[attr-defined]
            line = cst.SimpleStatementLine(suite.body)
            block = cst.IndentedBlock([line])
            self._positions[line] = self._positions[block] = self._positions[suite]  # type: ignore[index]
            object.__setattr__(head, "body", block)

    # -- text ---------------------------------------------------------------------------------------------------------
    @property
    def newline(self) -> str:
        return self.module.default_newline

    def offset(self, line: int, column: int = 0) -> int:
        return self._starts[min(line, len(self._starts)) - 1] + column if line <= len(self._starts) else len(self.text)

    def line_of(self, node: cst.CSTNode) -> int:
        return int(self._range(node).start.line)

    def last_line(self, node: cst.CSTNode) -> int:
        end = self._range(node).end
        return int(end.line if end.column or end.line == self.line_of(node) else end.line - 1)

    def line_at(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def _range(self, node: cst.CSTNode) -> CodeRange:
        # The provider leaves out the brackets around an expression; those of `class C()` and `with (...)` are inside.
        if isinstance(node, cst.BaseExpression) and node.lpar:
            return CodeRange(self._positions[node.lpar[0]].start, self._positions[node.rpar[-1]].end)
        return self._positions[node]

    def span(self, node: cst.CSTNode) -> Span:
        """The text of a node, with the brackets that belong to it."""
        at = self._range(node)
        return Span(self.offset(at.start.line, at.start.column), self.offset(at.end.line, at.end.column))

    def code(self, node: cst.CSTNode) -> str:
        span = self.span(node)
        return self.text[span.start : span.end]

    def indent(self, statement: cst.CSTNode) -> str:
        line = self.line_text(self.line_of(statement))
        return line[: len(line) - len(line.lstrip())]

    def on_head(self, statement: cst.CSTNode) -> bool:
        """Whether a statement stands on the line of the `if`, `for`, ... that has it."""
        span = self.span(statement)
        return bool(self.text[self.offset(self.line_of(statement)) : span.start].strip())

    def lines_span(self, statement: cst.CSTNode, comments: bool = False) -> Span:
        """Whole lines of a statement, with the comment lines directly above it where asked for."""
        first = self.line_of(statement)
        if isinstance(statement, cst.FunctionDef | cst.ClassDef) and statement.decorators:
            first = min(self.line_of(d) for d in statement.decorators)
        if comments:
            while first > 1 and self.line_text(first - 1).lstrip().startswith("#"):
                first -= 1
        return Span(self.offset(first), self.offset(self.last_line(statement) + 1))

    def line_text(self, line: int) -> str:
        return self.text[self.offset(line) : self.offset(line + 1)].rstrip("\r\n")

    # -- tree ---------------------------------------------------------------------------------------------------------
    def up(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around a node, innermost first."""
        while node in self.parent:
            node = self.parent[node]
            yield node

    def inside(self, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
        return node is outer or any(n is outer for n in self.up(node))

    @cached_property
    def statements(self) -> list[cst.BaseStatement]:
        """Every statement, simple or compound, in the order of the text."""
        return [n for n in walk(self.module) if isinstance(n, cst.BaseStatement)]

    @cached_property
    def functions(self) -> list[cst.FunctionDef]:
        return [n for n in self.statements if isinstance(n, cst.FunctionDef)]

    @cached_property
    def classes(self) -> list[cst.ClassDef]:
        return [n for n in self.statements if isinstance(n, cst.ClassDef)]

    def statement(self, node: cst.CSTNode) -> cst.BaseStatement | None:
        """The innermost statement around a node (itself, where it is one)."""
        if isinstance(node, cst.BaseStatement):
            return node
        return next((n for n in self.up(node) if isinstance(n, cst.BaseStatement)), None)

    def at(self, line: int) -> cst.BaseStatement | None:
        """The innermost statement on a line; a line inside a compound statement's head is that statement."""
        found = [s for s in self.statements if self.line_of(s) <= line <= self.last_line(s)]
        return found[-1] if found else None

    def scope(self, node: cst.CSTNode) -> cst.FunctionDef | cst.Module:
        """The function around a node, or the module. A function's own scope is the one around its `def`."""
        return next((n for n in self.up(node) if isinstance(n, cst.FunctionDef | cst.Module)), self.module)

    def class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        return next((n for n in self.up(node) if isinstance(n, cst.ClassDef)), None)

    def loops(self, node: cst.CSTNode) -> list[Loop]:
        """The loops around a node within its own function, innermost first."""
        found: list[Loop] = []
        for outer in self.up(node):
            if isinstance(outer, cst.FunctionDef | cst.ClassDef):
                break
            if isinstance(outer, cst.For | cst.While):
                found.append(outer)
        return found

    def block(self, statement: cst.CSTNode) -> list[cst.BaseStatement]:
        """The statements among which a statement stands."""
        body = self.parent.get(statement)
        if isinstance(body, cst.IndentedBlock | cst.Module):
            return list(body.body)
        return [statement] if isinstance(statement, cst.BaseStatement) else []

    def owner(self, statement: cst.CSTNode) -> cst.CSTNode:
        """What has the block in which a statement stands: a loop, an `if`, a function, the module."""
        body = self.parent.get(statement, self.module)
        return self.parent[body] if isinstance(body, cst.IndentedBlock) else body

    def within(self, node: cst.CSTNode, block: list[cst.BaseStatement]) -> cst.BaseStatement | None:
        """The statement of a block around (or equal to) a node."""
        chain = [node, *self.up(node)]
        return next((s for s in block if any(c is s for c in chain)), None)

    @staticmethod
    def body(owner: cst.CSTNode) -> list[cst.BaseStatement]:
        """The statements of a loop, function, `with` or module."""
        if isinstance(owner, cst.Module):
            return list(owner.body)
        inner = getattr(owner, "body", None)
        return list(inner.body) if isinstance(inner, cst.IndentedBlock) else []

    def order(self, node: cst.CSTNode) -> int:
        """For comparing what stands first."""
        return self.span(node).start
