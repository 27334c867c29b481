# SPDX-License-Identifier: BSD-3-Clause
"""Which files to read: folders walked without following links in circles, `.gitignore` and `exclude` respected."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .ignore import Patterns, read_gitignore

__all__ = ["Roots", "collect", "shown_name"]

_NEVER = {
    ".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "__pycache__", "node_modules", ".mypy_cache",
    ".pytest_cache", ".ruff_cache", ".secondpass_cache", ".ipynb_checkpoints", ".eggs", "site-packages",
}  # fmt: skip
_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


def collect(paths: list[str], exclude: list[str], respect_gitignore: bool = True) -> tuple[list[str], list[str]]:
    """The files below some paths, in order, and one line for every path that could not be walked."""
    found: dict[str, None] = {}
    notes: list[str] = []
    left_out = Patterns(exclude)
    for path in paths:
        if os.path.isdir(path):
            ignores = _above(path) if respect_gitignore else []
            for file in _walk(path, path, left_out, ignores, respect_gitignore, set(), notes):
                found.setdefault(os.path.normpath(file))
        elif os.path.exists(path):
            found.setdefault(os.path.normpath(path))
        else:
            notes.append(f"{path}: no such file or folder")
    return list(found), notes


def _above(path: str) -> list[Patterns]:
    """The `.gitignore` files of the folders above, up to the top of the repository."""
    found: list[Patterns] = []
    here = Path(path).resolve()
    for folder in (here, *here.parents):
        if folder != here and (patterns := read_gitignore(folder)):
            found.insert(0, patterns)
        if (folder / ".git").exists():
            return found
    return []


def _walk(
    top: str,
    folder: str,
    left_out: Patterns,
    ignores: list[Patterns],
    respect: bool,
    seen: set[tuple[int, int]],
    notes: list[str],
) -> Iterator[str]:
    try:
        stat = os.stat(folder)
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError as error:
        notes.append(f"{folder}: cannot be read ({(error.strerror or 'error').lower()})")
        return
    # A link that leads back to a folder above would go on for ever.
    if (stat.st_dev, stat.st_ino) in seen:
        return
    seen.add((stat.st_dev, stat.st_ino))
    if respect and (patterns := read_gitignore(Path(folder).resolve())):
        ignores = [*ignores, patterns]
    for entry in entries:
        try:
            is_folder = entry.is_dir()
        except OSError:
            continue
        if is_folder and entry.name in _NEVER:
            continue
        if not is_folder and not entry.name.endswith((".py", ".ipynb")):
            continue
        if left_out.match(os.path.relpath(entry.path, top).replace(os.sep, "/"), is_folder):
            continue
        if ignores and _ignored(entry.path, is_folder, ignores):
            continue
        if is_folder:
            yield from _walk(top, entry.path, left_out, ignores, respect, seen, notes)
        else:
            yield entry.path


def _ignored(path: str, is_folder: bool, ignores: list[Patterns]) -> bool:
    absolute = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    answer: bool | None = None
    for patterns in ignores:
        relative = os.path.relpath(absolute, patterns.folder).replace(os.sep, "/")
        found = None if relative.startswith("..") else patterns.match(relative, is_folder)
        answer = answer if found is None else found
    return bool(answer)


class Roots:
    """The folders from which imports are resolved."""

    def __init__(self, given: list[str]) -> None:
        bases = [Path(top).resolve() for top in given]
        self._given = [base if base.is_dir() else base.parent for base in bases]
        self._marked: dict[Path, Path | None] = {}
        self._found: dict[str, str] = {}

    def of(self, file: str) -> str:
        """The nearest project above a file, or else the folder that was given."""
        folder = os.path.dirname(file)
        if folder not in self._found:
            self._found[folder] = str(self._root(Path(folder).resolve()))
        return self._found[folder]

    def _root(self, here: Path) -> Path:
        marked = self._mark(here)
        if marked is not None:
            return marked
        return next((base for base in self._given if here == base or base in here.parents), here)

    def _mark(self, folder: Path) -> Path | None:
        if folder not in self._marked:
            if any((folder / mark).exists() for mark in _MARKS):
                self._marked[folder] = folder
            else:
                self._marked[folder] = None if folder.parent == folder else self._mark(folder.parent)
        return self._marked[folder]


def shown_name(path: str) -> str:
    """A path as findings show it: relative to the working directory where it lies below it."""
    absolute = os.path.abspath(path)
    here = os.getcwd() + os.sep
    return absolute[len(here) :] if absolute.startswith(here) else path
