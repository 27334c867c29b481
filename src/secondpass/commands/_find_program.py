# SPDX-License-Identifier: BSD-3-Clause
"""Finding the program that somebody names, as Python itself would."""

from __future__ import annotations

import importlib.machinery
import os
import sys
from pathlib import Path

import click

from ..watcher.libraries import library_of

__all__ = ["module_root", "program_file", "put_first"]


def program_file(program: str) -> Path:
    path = Path(os.getcwd(), program)
    if path.suffix == ".ipynb":
        raise click.UsageError(
            f"{program} is a notebook. In it, use `%load_ext secondpass`; "
            "or turn it into a program with `jupyter nbconvert --to script`."
        )
    if path.is_dir():
        inner = path / "__main__.py"
        if not inner.is_file():
            raise click.UsageError(f"{program} is a folder without a __main__.py.")
        return inner
    if not path.is_file():
        hint = ". For a module, say -m before its name." if not path.suffix else ""
        raise click.UsageError(f"no such program: {program}{hint}")
    return path


def module_root(name: str, here: Path) -> Path:
    """The folder whose files are the user's, for a program given as a module: nothing is imported to find it."""
    top = importlib.machinery.PathFinder.find_spec(name.partition(".")[0])
    if top is None or not top.origin:
        return here
    file = Path(top.origin).resolve()
    if file.is_relative_to(here.resolve()):
        return here
    if library_of(str(file)):
        return here  # a tool that runs the user's files: `-m pytest`
    return file.parent.parent if top.submodule_search_locations is not None else file.parent


def put_first(folder: str) -> None:
    """Makes a folder the first in which modules are looked for, and forgets what we found elsewhere by names it has."""
    if sys.flags.safe_path:
        return
    sys.path[0] = folder
    try:
        own = {entry.partition(".")[0] for entry in os.listdir(folder)}
    except OSError:
        return
    for name in [n for n in sys.modules if n.partition(".")[0] in own]:
        spec = getattr(sys.modules[name], "__spec__", None)
        # What Python has loaded for itself at its start stays, as in a plain run.
        if spec is None or spec.origin in (None, "built-in", "frozen") or name.startswith(("encodings", "secondpass")):
            continue
        if os.path.dirname(spec.origin) != folder:
            del sys.modules[name]
