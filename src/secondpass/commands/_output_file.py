# SPDX-License-Identifier: BSD-3-Clause
"""A file that a command is told to write: looked at before anything runs, for a run may take hours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from ..watcher.rank import rank

__all__ = ["OutputFile", "ranked"]

_SOURCE = (".py", ".pyi", ".ipynb")


class OutputFile(click.Path):
    """The name of a file that can be written, and that is no program: `run --json train.py` has lost its FILE."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        file = os.fsdecode(super().convert(value, param, ctx))
        path = Path(file)
        if path.suffix in _SOURCE:
            raise click.UsageError(f"will not write {file}: it would take the place of a program")
        if not path.exists() and not path.resolve().parent.is_dir():
            raise click.UsageError(f"cannot write {file}: {path.resolve().parent} is no folder")
        if not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
            raise click.UsageError(f"cannot write {file}: permission denied")
        return file


def ranked(file: str) -> str:
    """Each rank of a distributed program has a file of its own. A page must keep its ending: browsers go by it."""
    number = rank() or 0
    stem, dot, ending = file.rpartition(".")
    if number and ending == "html":
        return f"{stem}.rank{number}{dot}{ending}"
    return f"{file}.rank{number}" if number else file
