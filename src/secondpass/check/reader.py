# SPDX-License-Identifier: BSD-3-Clause
"""Reading a project: which files, in which order, and what came of it."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..record import Finding
from .entries import as_function, as_program, is_training, uncalled
from .program import read_program
from .project import Project

__all__ = ["Outcome", "read_project"]

LIMIT = 10.0
"""Seconds for one file."""

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^\n#]+)|import[ \t]+([^\n#]+))", re.M)


@dataclass
class Outcome:
    """The findings of one project, and what a person must know beside them."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    read: int = 0
    """How many files were interpreted."""


def read_project(root: Path | None, files: list[str], shown: Any = None, limit: float = LIMIT) -> Outcome:
    """Reads the files of one project; findings may lie in any file that they import."""
    project = Project(root, shown)
    outcome = Outcome()
    texts: dict[str, str] = {}
    for path in files:
        name = project.add(path)
        text = _glance(path)
        if text is not None:
            texts[name] = text
    trains = {name for name, text in texts.items() if is_training(text)}
    relevant = _importers(project, texts, trains)
    called: set[int] = set()
    seen: set[tuple[Any, ...]] = set()
    # Programs first: with them, functions are read with the values that they are really given.
    for name in sorted(relevant, key=lambda n: (n in trains, n)):
        source = project.source(name)
        if source is None or source.tree is None:
            if source is not None and source.problem:
                outcome.notes.append(f"{name}: {source.problem}")
            continue
        outcome.read += 1
        _read(project, outcome, seen, called, name, as_program(name), limit)
    for name in sorted(trains):
        tree = project.tree(name)
        if tree is None:
            continue
        deadline = time.monotonic() + limit
        for cls, function, node in uncalled(tree, called):
            if id(node) in called:
                continue
            left = deadline - time.monotonic()
            if left <= 0:
                outcome.notes.append(f"{name}: took longer than {limit:g} s, not read to its end")
                break
            start = as_function(name, _module_name(name), cls, function)
            _read(project, outcome, seen, called, name, start, left)
    return outcome


def _read(
    project: Project, outcome: Outcome, seen: set[tuple[Any, ...]], called: set[int], name: str, start: Any, limit: float
) -> None:
    try:
        findings, entered = read_program(project, start, limit)
    except Exception as error:  # a fault of ours must not cost the user the other files
        if os.environ.get("SECONDPASS_DEBUG"):
            raise
        outcome.notes.append(f"{name}: could not be read to its end ({type(error).__name__})")
        return
    called |= entered
    for finding in findings:
        key = (finding.code, finding.failed and (finding.failed.file, finding.failed.line))
        if key not in seen:
            seen.add(key)
            outcome.findings.append(finding)


def _module_name(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]


def _glance(path: str) -> str | None:
    """The text of a file, good enough to tell whether it trains anything."""
    try:
        with open(path, "rb") as file:
            raw = file.read(4_000_000)
    except OSError:
        return None
    return raw.decode("utf-8", "replace")


def _importers(project: Project, texts: dict[str, str], trains: set[str]) -> set[str]:
    """The files that train, and those that import them, directly or not."""
    if not trains:
        return set()
    stems = {os.path.splitext(os.path.basename(n))[0] for n in texts}
    graph: dict[str, set[str]] = {}
    for name, text in texts.items():
        if name.endswith(".ipynb") or "import" not in text:
            continue
        for found in _IMPORT.finditer(text):
            for target in _targets(project, name, found, stems):
                graph.setdefault(target, set()).add(name)
    relevant, todo = set(trains), list(trains)
    while todo:
        for importer in graph.get(todo.pop(), ()):
            if importer not in relevant:
                relevant.add(importer)
                todo.append(importer)
    return relevant


def _targets(project: Project, name: str, found: re.Match[str], stems: set[str]) -> list[str]:
    source, names, plain = found.groups()
    wanted: list[tuple[str, int]] = []
    if plain:
        wanted = [(part.split()[0], 0) for part in plain.split(",") if part.split()]
    else:
        level = len(source) - len(source.lstrip("."))
        base = source.lstrip(".")
        wanted = [(base, level)]
        for part in names.strip("() ").split(","):
            word = part.split()[0] if part.split() else ""
            if word in stems:
                wanted.append((f"{base}.{word}" if base else word, level))
    targets = []
    for module, level in wanted:
        if level or module.rpartition(".")[2] in stems or module.partition(".")[0] in stems:
            target = project.module_file(module, name, level)
            if target:
                targets.append(target)
    return targets
