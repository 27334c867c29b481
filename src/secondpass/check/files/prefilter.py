# SPDX-License-Identifier: BSD-3-Clause
"""What can be told of files at a glance, without parsing them: which train anything, and which import those."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .project import Project

__all__ = ["Glance", "Survey", "glance", "leads_to_training", "survey"]

Glance = tuple[bool, bool, bool, list[str]]
"""Whether a file makes passes, whether it names PyTorch, whether it may be a program, and what it imports of the project."""

# Expressions that begin with plain text are searched many times faster than those that begin with a choice.
_BACKWARD = re.compile(rb"backward\s*\(")
_GRAD = re.compile(rb"grad\s*\(")
_AUTOGRAD = re.compile(rb"autograd\s*\.\s*grad\b")
_LIGHTNING = re.compile(rb"class\s+\w+\s*\([^)]*LightningModule")
_STEP = re.compile(rb"def\s+(?:training_step|compute_loss)\b")

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]+)|import[ \t]+([^\n#]+))", re.MULTILINE
)

_PACKAGE = re.compile(rb"[\"'](\.?\w+(?:\.\w+)*)\.?(?:[\"']|[{%])")
"""Text that may name a module or a package, or begin the name of one of its modules."""

_ACTS = re.compile(rb"^(?:[A-Za-z_][\w.]*\(|for\b|while\b|with\b)", re.MULTILINE)
"""Statements outside of functions and classes that call or repeat something."""


@dataclass
class Survey:
    """The files of a project that are worth reading."""

    programs: list[str] = field(default_factory=list)
    """Files that train, and programs that import them."""
    trains: list[str] = field(default_factory=list)
    """Files that train."""


def survey(files: Iterable[str], look: Callable[[str], Glance]) -> Survey:
    """Looks at all files."""
    seen = {file: look(file) for file in files}
    importers: dict[str, list[str]] = {}
    for file, (_, _, _, targets) in seen.items():
        for target in targets:
            importers.setdefault(target, []).append(file)

    def users(of: set[str]) -> set[str]:
        found, todo = set(of), list(of)
        while todo:
            new = [i for i in importers.get(todo.pop(), ()) if i not in found]
            found.update(new)
            todo += new
        return found

    # A file that walks what it is given need not name PyTorch: those that import it do.
    trains = {
        f for f, (passes, torch, _, _) in seen.items() if passes and (torch or any(seen[u][1] for u in users({f})))
    }
    programs = {file for file in users(trains) if seen[file][2]} | trains
    # Those that only import come first: they are the programs, and give functions the values they are really given.
    return Survey(sorted(programs, key=lambda n: (n in trains, n)), sorted(trains))


def names_torch(data: bytes) -> bool:
    """Whether PyTorch, or a library on it, is named in a file."""
    return b"torch" in data or b"transformers" in data or b"LightningModule" in data


def makes_passes(data: bytes) -> bool:
    """Whether a file may hold training code. To define how an operation goes backward is not training."""
    if b"LightningModule" in data and _LIGHTNING.search(data):
        return True
    for found in _BACKWARD.finditer(data):
        before = data[max(0, found.start() - 7) : found.start()]
        if not before.endswith(b"def ") and (not _is_word(before) or before.endswith(b"manual_")):
            return True
    if any(not _is_word(data[max(0, f.start() - 1) : f.start()]) for f in _GRAD.finditer(data)):
        return True
    if b"autograd" in data and _AUTOGRAD.search(data):
        return True
    return (b"training_step" in data or b"compute_loss" in data) and _STEP.search(data) is not None


def _is_word(text: bytes) -> bool:
    return text[-1:].isalnum() or text.endswith(b"_")


def glance(project: Project, file: str, data: bytes, stems: set[bytes]) -> Glance:
    """What can be told of one file; `stems` are the names that files and folders of the project have."""
    targets: dict[str, None] = {}
    if not file.endswith(".ipynb") and b"import" in data:
        for found in _IMPORT.finditer(data):
            targets.update(dict.fromkeys(_targets(project, file, found, stems)))
        if b"import_module" in data or b"__import__" in data:
            targets.update(dict.fromkeys(_named(project, file, data, stems)))
    return makes_passes(data), names_torch(data), is_program(project, file, data), list(targets)


_MOST = 200
"""Files that are looked at to find out whether a named one leads to training."""


class _Every(set[bytes]):
    """Any name may be that of a file."""

    def __contains__(self, name: object) -> bool:
        return True


def leads_to_training(project: Project, file: str) -> bool:
    """Whether a file, or one that it imports, may hold training code."""
    todo, seen = [file], {file}
    passes = torch = False
    while todo and len(seen) < _MOST:
        here = todo.pop()
        data = project.content(here)
        if data is None:
            continue
        passes, torch = passes or makes_passes(data), torch or names_torch(data)
        if passes and torch:
            return True
        if not here.endswith(".ipynb") and b"import" in data:
            for found in _IMPORT.finditer(data):
                new = [t for t in _targets(project, here, found, _Every()) if t not in seen]
                seen.update(new)
                todo += new
    return False


def is_program(project: Project, file: str, data: bytes) -> bool:
    """Whether a file may be one that is run: not so a part of a package that does nothing but define and assign."""
    return b"__main__" in data or not project.in_package(file) or _ACTS.search(data) is not None


def stems_of(files: Iterable[str]) -> set[bytes]:
    """The names by which files can be imported."""
    found: set[bytes] = set()
    folders: set[str] = set()
    for file in files:
        folder, name = os.path.split(file)
        found.add(os.fsencode(os.path.splitext(name)[0]))
        folders.add(folder)
    return found | {os.fsencode(os.path.basename(folder)) for folder in folders}


def _named(project: Project, file: str, data: bytes, stems: set[bytes]) -> Iterable[str]:
    """What a file may import by names that it puts together: the modules of its own package, those it names, and those of
    packages that it names."""
    if project.in_package(file):
        yield from project.modules_of("", file)
    for name in {found.group(1).lstrip(b".") for found in _PACKAGE.finditer(data)}:
        if name.rpartition(b".")[2] in stems:
            module = name.decode("utf-8", "replace")
            one = project.module_file(module, file, 0)
            yield from ([one] if one else [])
            yield from project.modules_of(module, file)


def _targets(project: Project, file: str, found: re.Match[bytes], stems: set[bytes]) -> Iterable[str]:
    source, names, plain = found.groups()
    wanted: list[tuple[bytes, int]] = []
    if plain:
        wanted = [(part.split()[0], 0) for part in plain.split(b",") if part.split()]
    else:
        base = source.lstrip(b".")
        level = len(source) - len(base)
        wanted = [(base, level)]
        for word in re.findall(rb"[(,]\s*(\w+)", b"(" + names.lstrip(b"(")):
            if word in stems:
                wanted.append((base + b"." + word if base else word, level))
    for module, level in wanted:
        if level or module.rpartition(b".")[2] in stems or module.partition(b".")[0] in stems:
            target = project.module_file(module.decode("utf-8", "replace"), file, level)
            if target:
                yield target
