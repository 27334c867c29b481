# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of files to leave out, as `.gitignore` writes them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["Patterns", "read_gitignore"]


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    """One pattern as a regular expression over a path with `/`, relative to the pattern's folder."""
    anchored = "/" in pattern.rstrip("/")
    body, index = "", 0
    text = pattern.strip("/")
    while index < len(text):
        if text.startswith("**/", index):
            body, index = body + "(?:.*/)?", index + 3
        elif text.startswith("**", index):
            body, index = body + ".*", index + 2
        elif text[index] == "*":
            body, index = body + "[^/]*", index + 1
        elif text[index] == "?":
            body, index = body + "[^/]", index + 1
        elif text[index] == "[" and (end := text.find("]", index + 2)) > 0:
            inner = text[index + 1 : end].replace("\\", "\\\\")
            body, index = body + "[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]", end + 1
        else:
            body, index = body + re.escape(text[index]), index + 1
    head = "" if anchored else "(?:.*/)?"
    try:
        return re.compile(f"{head}{body}(?:/.*)?$")
    except re.error:
        return re.compile(r"(?!)")


class Patterns:
    """Lines of one `.gitignore` (or of an `exclude` setting), later ones overrule earlier ones."""

    def __init__(self, lines: list[str], folder: str = "") -> None:
        self.folder = folder
        self.rules: list[tuple[re.Pattern[str], bool, bool]] = []
        for line in lines:
            line = line.rstrip("\n").rstrip()
            if not line or line.startswith("#"):
                continue
            keep = line.startswith("!")
            line = line.removeprefix("!").removeprefix("\\")
            if line.strip("/"):
                self.rules.append((_expression(line), keep, line.endswith("/")))

    def match(self, path: str, is_folder: bool) -> bool | None:
        """Whether a path (with `/`, relative to the folder) is left out; None where no line says anything."""
        found: bool | None = None
        for expression, keep, only_folders in self.rules:
            if expression.match(path) and (is_folder or not only_folders or expression.match(path.rpartition("/")[0])):
                found = not keep
        return found


def read_gitignore(folder: Path) -> Patterns | None:
    """The patterns of a folder's `.gitignore`, where it has one."""
    try:
        text = (folder / ".gitignore").read_text("utf-8", "replace")
    except OSError:
        return None
    return Patterns(text.splitlines(), str(folder))
