# SPDX-License-Identifier: BSD-3-Clause
"""The user's source lines, and which part of a line to point at."""

from __future__ import annotations

import json
import linecache
import re
import tokenize
from collections.abc import Mapping
from functools import lru_cache

__all__ = ["Sources", "span_of_call", "span_of_code", "span_of_name"]


class Sources:
    """Lines by file and number: from the texts given, else from the disk."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = texts or {}
        self._read = lru_cache(maxsize=None)(self._lines)

    def line(self, file: str, number: int, cell: int | None = None) -> str | None:
        """The line (in a notebook: of a cell) without its end, tabs expanded; None where it cannot be read."""
        lines = self._read(file, cell)
        if not 1 <= number <= len(lines):
            return None
        return lines[number - 1].expandtabs(8).rstrip()

    def _lines(self, file: str, cell: int | None) -> list[str]:
        text = self._texts.get(file)
        if cell is not None:
            return _cell_lines(file, cell)
        if text is None:
            try:
                with tokenize.open(file) as stream:  # honours the file's own coding line
                    text = stream.read()
            except (OSError, SyntaxError, UnicodeError):
                return linecache.getlines(file)  # cells of a notebook are there, though on no disk
        return text.splitlines()


def _cell_lines(file: str, cell: int) -> list[str]:
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            source = json.load(stream)["cells"][cell - 1]["source"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []
    return (source if isinstance(source, str) else "".join(map(str, source))).splitlines()


def span_of_code(line: str) -> tuple[int, int]:
    """The statement: the line less its indentation and its comment."""
    start = len(line) - len(line.lstrip())
    end = len(line)
    quote = ""
    for at, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "#" and at > start:
            end = len(line[:at].rstrip())
            break
    return start, end


def span_of_name(line: str, name: str) -> tuple[int, int] | None:
    """A carrier in the line, its assignment before its uses. Of `buffer[...]` the part before the bracket."""
    stem = name.split("[", 1)[0].strip()
    if not stem:
        return None
    start, end = span_of_code(line)
    found = [m.span() for m in re.finditer(rf"(?<![\w.]){re.escape(stem)}(?!\w)", line) if start <= m.start() < end]
    assigned = re.search(r"(?<![=!<>])=(?!=)", line)
    targets = [span for span in found if assigned and span[1] <= assigned.start()]
    if targets:
        return targets[-1]
    return found[0] if found else None


def span_of_call(line: str, *names: str, last: bool = False) -> tuple[int, int] | None:
    """The first (or last) call of one of these functions in the line, with its arguments where they end on the line."""
    start, end = span_of_code(line)
    calls = list(re.compile(rf"""[\w.\[\]'"]*\b(?:{"|".join(names)})\(""").finditer(line, start, end))
    if not calls:
        return None
    found = calls[-1 if last else 0]
    depth = 0
    for at in range(found.end() - 1, end):
        depth += {"(": 1, ")": -1}.get(line[at], 0)
        if depth == 0:
            return found.start(), at + 1
    return found.start(), end
