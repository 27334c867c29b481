# SPDX-License-Identifier: BSD-3-Clause
"""A long file, of which functions are parsed one by one, gives the answers of one that is parsed as a whole."""

from __future__ import annotations

import argparse
import ast
import gc
import inspect
import tarfile
import typing
from pathlib import Path

import pytest

from secondpass.source import Source, close_long_files

TEXTS = {m.__name__: Path(str(m.__file__)).read_text(encoding="utf-8") for m in (argparse, inspect, tarfile, typing)}


def told(stmt: ast.AST | None) -> str:
    """A statement, whole; of a class the position: its methods have their bodies when a line in them is asked for."""
    if isinstance(stmt, ast.ClassDef):
        return f"class {stmt.name}, {stmt.lineno} to {stmt.end_lineno}"
    return ast.dump(stmt, include_attributes=True) if stmt is not None else ""


@pytest.mark.parametrize("name", TEXTS)
def test_every_line_is_told_alike(name):
    text = TEXTS[name]
    whole, long = Source(ast.parse(text)), Source(ast.parse(text), text)
    assert text.count("\n") >= 2000, "else nothing is tried here"
    for line in range(1, text.count("\n"), 7):
        assert told(whole.statement(line)) == told(long.statement(line)), line
        assert whole.function_name(line) == long.function_name(line), line
        assert [s.lineno for s in whole.path(line)] == [s.lineno for s in long.path(line)], line
        assert [s.lineno for s in whole.loops(line)] == [s.lineno for s in long.loops(line)], line
        if line % 5 == 0:
            long.close()  # whatever was open
    assert told(whole.tree) == told(long.tree)


@pytest.mark.parametrize("name", TEXTS)
def test_names_are_told_alike(name):
    text = TEXTS[name]
    whole, long = Source(ast.parse(text)), Source(ast.parse(text), text)
    assert whole.imported == long.imported
    assert [f.name for f in whole.functions()] == [f.name for f in long.functions()]
    for target in ("self", "name", "self.name", "result", "found", "args"):
        assert [told(s) for s in whole.writes(target)] == [told(s) for s in long.writes(target)]
    assert whole.lines_with(("append", "get")) == long.lines_with(("append", "get"))


def test_bodies_are_thrown_away_again():
    text = TEXTS["typing"]
    source = Source(ast.parse(text), text)
    closed = sum(1 for _ in ast.walk(source.module))
    assert source.tree is source.module and source.is_open
    assert sum(1 for _ in ast.walk(source.module)) > 3 * closed
    close_long_files()
    assert not source.is_open and sum(1 for _ in ast.walk(source.module)) == closed
    assert gc.isenabled()
