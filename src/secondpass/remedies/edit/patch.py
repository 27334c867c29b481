# SPDX-License-Identifier: BSD-3-Clause
"""Changes to the text of several files, as line edits and as a diff."""

from __future__ import annotations

import difflib
import itertools
import re
from collections import defaultdict

import libcst as cst

from ...record import Edit
from .source import Source, Span

__all__ = ["Patch", "apply_edits", "diff_of", "edits_of"]


class Patch:
    """Collects replacements of stretches of text; they must not overlap, insertions at one offset keep their order."""

    def __init__(self) -> None:
        self._changes: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        self._sources: dict[str, Source] = {}

    def __bool__(self) -> bool:
        return any(self._changes.values())

    # -- small changes ------------------------------------------------------------------------------------------------
    def replace(self, source: Source, where: cst.CSTNode | Span, text: str) -> None:
        span = where if isinstance(where, Span) else source.span(where)
        self._sources[source.file] = source
        self._changes[source.file].append((span.start, span.end, text))

    def append(self, source: Source, node: cst.CSTNode, suffix: str) -> None:
        """Puts a call or attribute behind an expression, with brackets where it needs them."""
        self.replace(source, node, attached(source, node, suffix))

    def delete(self, source: Source, statement: cst.CSTNode, comments: bool = False) -> None:
        """Removes whole lines; a block that would be left empty gets a `pass`."""
        if source.on_head(statement):
            self.replace(source, statement, "pass")
            return
        span = source.lines_span(statement, comments)
        block = source.block(statement)
        gone = {id(statement)} | {id(s) for s in block if self._covers(source, source.lines_span(s))}
        if all(id(s) in gone for s in block) and not isinstance(source.parent.get(statement), cst.Module):
            self.replace(source, span, f"{source.indent(statement)}pass{source.newline}")
        else:
            self.replace(source, span, "")

    def _covers(self, source: Source, span: Span) -> bool:
        return any(a <= span.start and span.end <= b and not text for a, b, text in self._changes[source.file])

    def inserts(self, source: Source, text: str) -> bool:
        """Whether it puts a text somewhere into a file already."""
        return any(start == end and new.strip() == text for start, end, new in self._changes[source.file])

    # -- whole statements ---------------------------------------------------------------------------------------------
    def insert_before(self, source: Source, statement: cst.CSTNode, lines: list[str]) -> None:
        if source.on_head(statement):
            self._below_head(source, statement, lines)
            return
        span = source.lines_span(statement)
        self._insert(source, span.start, source.indent(statement), lines)

    def insert_after(self, source: Source, statement: cst.CSTNode, lines: list[str]) -> None:
        span, indent = source.lines_span(statement), source.indent(statement)
        if source.on_head(statement):
            indent += source.module.default_indent
            self._below_head(source, statement, [])
        self._insert(source, span.end, indent, lines)

    def _below_head(self, source: Source, statement: cst.CSTNode, lines: list[str]) -> None:
        """A statement on the line of its head goes below it, behind other lines."""
        begin = source.newline + source.indent(statement) + source.module.default_indent
        end = source.span(statement).start
        start = len(source.text[:end].rstrip())
        self.replace(source, Span(start, end), "".join(f"{begin}{line}" for line in lines) + begin)

    def _insert(self, source: Source, offset: int, indent: str, lines: list[str]) -> None:
        nl = source.newline
        text = "".join(f"{indent}{line}{nl}" if line else nl for line in lines)
        if offset == len(source.text) and source.text and not source.text.endswith(("\n", "\r")):
            text = nl + text.removesuffix(nl)
        self.replace(source, Span(offset, offset), text)

    # -- results ------------------------------------------------------------------------------------------------------
    def result(self) -> dict[str, str]:
        """The new text of every file that changes."""
        out = {}
        for file, changes in self._changes.items():
            text = self._sources[file].text
            position, parts = 0, []
            for start, end, new in sorted(changes, key=lambda c: (c[0], c[1])):
                if start < position:
                    raise ValueError("overlapping changes")
                parts += [text[position:start], new]
                position = end
            new_text = "".join([*parts, text[position:]])
            if new_text != text:
                out[file] = new_text
        return out

    def originals(self) -> dict[str, str]:
        return {file: s.text for file, s in self._sources.items()}


_POSTFIX = cst.Name | cst.Attribute | cst.Call | cst.Subscript


def attached(source: Source, node: cst.CSTNode, suffix: str) -> str:
    """`x` + `.detach()`, `(a - b)` + `.detach()`."""
    text = source.code(node)
    bare = isinstance(node, _POSTFIX) or bool(getattr(node, "lpar", ())) or isinstance(node, cst.List | cst.Dict)
    return f"{text}{suffix}" if bare else f"({text}){suffix}"


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)


def edits_of(file: str, old: str, new: str) -> tuple[Edit, ...]:
    """The difference as edits of whole lines.

    An edit's `old` says which lines go, so it must tell "one empty line" from "nothing": a hunk of one empty line takes
    in its neighbours. Where hunks would touch by that, all become one.
    """
    a, b = _lines(old), _lines(new)
    hunks = _hunks(a, b)
    wide = [_widened(hunk, a, b) for hunk in hunks]
    if any(first[1] >= second[0] for first, second in itertools.pairwise(wide)):
        wide = [_widened((hunks[0][0], hunks[-1][1], hunks[0][2], hunks[-1][3]), a, b)]
    return tuple(Edit(file, i1 + 1, _joined(a[i1:i2]), _joined(b[j1:j2])) for i1, i2, j1, j2 in wide)


def _hunks(a: list[str], b: list[str]) -> list[tuple[int, int, int, int]]:
    """What differs. Only what lies between the first and the last difference is compared: files are long."""
    most = min(len(a), len(b))
    first = next((i for i in range(most) if a[i] != b[i]), most)
    last = next((i for i in range(most - first) if a[-1 - i] != b[-1 - i]), most - first)
    matcher = difflib.SequenceMatcher(None, a[first : len(a) - last], b[first : len(b) - last], autojunk=False)
    return [
        (i1 + first, i2 + first, j1 + first, j2 + first)
        for kind, i1, i2, j1, j2 in matcher.get_opcodes()
        if kind != "equal"
    ]


def _widened(hunk: tuple[int, int, int, int], a: list[str], b: list[str]) -> tuple[int, int, int, int]:
    i1, i2, j1, j2 = hunk
    while _blank(a[i1:i2]) or _blank(b[j1:j2]):
        if i1 > 0 and j1 > 0:
            i1, j1 = i1 - 1, j1 - 1
        elif i2 < len(a) and j2 < len(b):
            i2, j2 = i2 + 1, j2 + 1
        else:
            break
    return i1, i2, j1, j2


def _blank(lines: list[str]) -> bool:
    return len(lines) == 1 and not lines[0].strip("\r\n")


def _joined(lines: list[str]) -> str:
    return "\n".join(line.rstrip("\r\n") for line in lines)


def apply_edits(text: str, edits: list[Edit]) -> str:
    """The text after some edits of one file. Raises ValueError where an edit's `old` does not stand there."""
    lines = _lines(text)
    nl = next((m.group() for m in re.finditer(r"\r\n|\r|\n", text)), "\n")
    for edit in sorted(edits, key=lambda e: -e.line):
        at = edit.line - 1
        old = edit.old.split("\n") if edit.old else []
        if [line.rstrip("\r\n") for line in lines[at : at + len(old)]] != old:
            raise ValueError(f"{edit.file}:{edit.line} is not what the edit expects")
        new = [line + nl for line in edit.new.split("\n")] if edit.new else []
        last = at + len(old) >= len(lines)
        if last and new and not text.endswith(("\n", "\r")):
            if at and not old:
                lines[at - 1] = lines[at - 1].rstrip("\r\n") + nl
            new[-1] = new[-1].removesuffix(nl)
        lines[at : at + len(old)] = new
    return "".join(lines)


def diff_of(old: dict[str, str], new: dict[str, str]) -> str:
    """A unified diff over all changed files."""
    parts = []
    for file in sorted(new):
        lines = difflib.unified_diff(
            [line.rstrip("\r\n") for line in _lines(old[file])],
            [line.rstrip("\r\n") for line in _lines(new[file])],
            f"a/{file}",
            f"b/{file}",
            lineterm="",
        )
        parts.append("\n".join(lines))
    return "\n".join(parts) + "\n" if parts else ""
