# SPDX-License-Identifier: BSD-3-Clause
"""The code blocks of a Markdown page, and what it means to execute them.

NOTE [ Blocks of a page ]
1. ```` ```python ```` blocks are one program: run in order, in a folder of the page's own.
2. With `title="train.py"` a block is a file: written into that folder, and run only where a console block does so.
   If the repository has a file of that name, the block must be its text.
3. ```` ```console ```` blocks hold `$ command` lines and their true output, compared line by line; a line `...` stands
   for any number of lines.
4. ```` ```sh ```` blocks set things up: `pip install` with extras that exist, `make` with targets that exist, `git`.
5. JSON, TOML, YAML blocks must be read by their parsers. `text` and `diff` are no code. Anything else is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "blocks", "matches", "pages", "renewed", "sessions"]

_FENCE = re.compile(r"^( *)(`{3,})([\w+-]*)[ \t]*([^\n]*)\n(.*?)^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    title: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """All fenced blocks, in order."""
    found = []
    for match in _FENCE.finditer(page):
        indent, _, language, rest, body = match.groups()
        title = re.search(r'title="([^"]*)"', rest)
        text = "".join(row.removeprefix(indent) for row in body.splitlines(keepends=True))
        found.append(Block(language, title[1] if title else "", text, page.count("\n", 0, match.start()) + 1))
    return found


def sessions(block: Block) -> list[tuple[str, list[str]]]:
    """(command, expected lines) of a console block."""
    found: list[tuple[str, list[str]]] = []
    for row in block.text.splitlines():
        if row.startswith("$ "):
            found.append((row[2:], []))
        elif found:
            found[-1][1].append(row)
        else:
            raise ValueError(f"line {block.line}: a console block begins with `$ command` (got {row!r})")
    for _, expected in found:
        while expected and not expected[-1]:
            expected.pop()
    return found


def matches(expected: list[str], got: list[str]) -> bool:
    """Whether the lines are the same, where `...` stands for any number of lines."""
    if not expected:
        return not got
    if expected[0] == "...":
        return any(matches(expected[1:], got[at:]) for at in range(len(got) + 1))
    return bool(got) and got[0].rstrip() == expected[0].rstrip() and matches(expected[1:], got[1:])


def renewed(expected: list[str], got: list[str]) -> list[str]:
    """What a page should show: the truth, cut where the page has `...`; what follows it begins with the same word."""
    if "..." not in expected:
        return got
    at = len(expected) - expected[::-1].index("...")
    word = expected[at].split()[0] if expected[at:] and expected[at] else ""
    start = next((i for i, row in enumerate(got) if word and row.startswith(word)), len(got))
    return [*expected[:at], *got[start:]]


def pages(root: Path) -> list[Path]:
    """README and everything below docs/."""
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
