# SPDX-License-Identifier: BSD-3-Clause
"""Reading files that may hold anything: encodings, byte-order marks, notebooks, text that is not Python."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import tokenize
import warnings
from itertools import accumulate
from typing import Any

from ..limits import unswept

__all__ = ["Source", "read_source"]

LARGEST = 2_000_000
"""Bytes. Nobody writes a training loop in a longer file; generated code and data are."""


class Source:
    """The text of a file, its syntax tree, and (for a notebook) the cell of every line."""

    __slots__ = ("cells", "large", "line", "problem", "text", "tree")

    def __init__(self, text: str, tree: ast.Module | None, problem: str = "", line: int = 1) -> None:
        self.text = text
        self.tree = tree
        self.problem = problem
        """One line for a person: why there is no tree."""
        self.line = line
        """Where the problem is."""
        self.large = False
        """Whether it is merely too long to be anybody's training loop."""
        self.cells: list[tuple[int, int, int]] | None = None
        """(first line of the text, cell number, line in the cell) of each code cell; cells of every kind are counted."""


def read_source(path: str) -> Source:
    """Reads and parses a file; never raises."""
    try:
        if os.path.getsize(path) > LARGEST:
            made = Source("", None, f"larger than {LARGEST // 1_000_000} MB, not read")
            made.large = True
            return made
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as error:
        return Source("", None, f"cannot be read ({(error.strerror or 'error').lower()})")
    if path.endswith(".ipynb"):
        return _notebook(raw)
    return parse(decode(raw))


def decode(raw: bytes) -> str:
    """The text of Python source, by its declared encoding or the next best."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        text = raw.decode("utf-8-sig" if raw.startswith(b"\xef\xbb\xbf") else "latin-1", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse(text: str) -> Source:
    """The tree of a text, or why there is none."""
    try:
        with unswept(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Source(text, ast.parse(text))
    except SyntaxError as error:
        return Source(text, None, f"syntax error: {error.msg}", error.lineno or 1)
    except (ValueError, RecursionError, MemoryError) as error:
        return Source(text, None, f"cannot be parsed ({type(error).__name__})")


_MAGIC = re.compile(r"^\s*(%|!|\?|.*\?\s*$)")
_BARE = re.compile(
    r"^\s*(pip|conda|mamba|micromamba|cd|ls|ll|mkdir|rmdir|rm|cp|mv|cat|man|more|less|env|set_env|run|pylab|matplotlib"
    r"|load_ext|reload_ext|autoreload|config)\s+(?!(in|is|and|or|if|not|for)\b)[\w.~-]"
)
"""Magics that IPython knows without their `%`: no statement of Python is a name and then another one."""
_TAKEN = re.compile(r"^(\s*[\w.,\[\] ]+=\s*)[!%](?!=)")
"""`files = !ls`: what a magic gives is assigned."""
_PYTHON = re.compile(r"%%(time|timeit|capture|prun|memit|mprun|debug|wandb|snakeviz)\b")
"""Magics around a cell of Python."""


def _notebook(raw: bytes) -> Source:
    try:
        cells = json.loads(raw.decode("utf-8", "replace")).get("cells", [])
        code = [(n, c) for n, c in enumerate(cells, 1) if isinstance(c, dict) and c.get("cell_type") == "code"]
    except (ValueError, AttributeError, RecursionError):
        return Source("", None, "not a notebook")
    texts = [cell_lines(cell.get("source", "")) for _, cell in code]
    firsts = list(accumulate(map(len, texts), initial=1))
    made = parse(_joined(texts))
    if made.tree is None:  # a cell that is no Python does not run; the others do
        broken, line = made, made.line
        for place, lines in zip(firsts, texts, strict=False):
            alone = parse(_joined([lines]))
            if alone.tree is None:
                broken, line = (alone, place + alone.line - 1) if broken is made else (broken, line)
                lines[:] = ["# " + text for text in lines]
        made = parse(_joined(texts))
        made.problem, made.line = broken.problem, line
    made.cells = [(first, number, 1) for first, (number, _) in zip(firsts, code, strict=False)]
    return made


def _joined(texts: list[list[str]]) -> str:
    return "\n".join(line for lines in texts for line in lines) + "\n"


def cell_lines(source: Any) -> list[str]:
    """The lines of a notebook's cell as Python: magics are not."""
    text = source if isinstance(source, str) else "".join(s for s in source if isinstance(s, str))
    lines = text.replace("\r\n", "\n").split("\n")
    if lines and lines[0].startswith("%%") and not _PYTHON.match(lines[0]):
        return ["" for _ in lines]
    # Magics become `pass` at the same depth, so that every line keeps its number. Within brackets and strings there are none.
    plain: list[str] = []
    goes_on = False
    for line in lines:
        more = line.endswith("\\")
        if goes_on:
            goes_on, line = more, ""
        elif (_MAGIC.match(line) or _BARE.match(line)) and _is_complete(plain):
            line = line[: len(line) - len(line.lstrip())] + "pass"
            goes_on = more
        elif (taken := _TAKEN.match(line)) and _is_complete(plain):
            line = taken.group(1) + "get_ipython()"
        plain.append(line)
    return plain


def _is_complete(lines: list[str]) -> bool:
    """Whether a statement may begin after some lines."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO("\n".join([*lines, ""])).readline):
            pass
    except tokenize.TokenError:
        return False
    except SyntaxError:  # depth that does not fit: it has been closed all the same
        pass
    return not (lines and lines[-1].endswith("\\"))
