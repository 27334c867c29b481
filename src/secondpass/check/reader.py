# SPDX-License-Identifier: BSD-3-Clause
"""Reading a project: which files train anything, and what came of reading them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..record import Finding
from .entries import as_function, as_program, is_training, uncalled
from .program import read_program
from .project import Project

__all__ = ["LIMIT", "Called", "Outcome", "Survey", "read_functions", "read_programs", "survey"]

LIMIT = 5.0
"""Seconds of CPU for one file."""

Called = set[tuple[str, int]]
"""(file, line) of functions that were entered."""

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+([^\n#]+)|import[ \t]+([^\n#]+))", re.MULTILINE)


@dataclass
class Outcome:
    """What came of reading one entry, or several."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    called: Called = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    """The files that were looked into."""

    def add(self, other: Outcome) -> None:
        """Takes in what came of another entry."""
        self.findings += other.findings
        self.notes += other.notes
        self.called |= other.called
        self.files |= other.files


@dataclass
class Survey:
    """The files of a project that are worth reading."""

    programs: list[str] = field(default_factory=list)
    """Files that train, and those that import them."""
    trains: list[str] = field(default_factory=list)
    """Files that train."""


def survey(project: Project, files: Iterable[str], glance: Callable[[str], str | None]) -> Survey:
    """Looks at the text of all files, without parsing any."""
    texts: dict[str, str] = {}
    for path in files:
        name = project.add(path)
        text = glance(path)
        if text is not None:
            texts[name] = text
    trains = {name for name, text in texts.items() if is_training(text)}
    relevant = _importers(project, texts, trains)
    # Those that only import come first: they are the programs, and give functions the values they are really given.
    return Survey(sorted(relevant, key=lambda n: (n in trains, n)), sorted(trains))


def read_programs(project: Project, names: Iterable[str], limit: float = LIMIT) -> dict[str, Outcome]:
    """Reads files as programs; findings may lie in any file that they import."""
    found: dict[str, Outcome] = {}
    for name in names:
        source = project.source(name)
        outcome = found[name] = Outcome(files={name})
        if source is None or source.tree is None:
            if source is not None and source.problem:
                outcome.notes.append(f"{name}: {source.problem}")
            continue
        _read(project, outcome, name, as_program(name), limit)
    return found


def read_functions(project: Project, names: Iterable[str], called: Called, limit: float = LIMIT) -> dict[str, Outcome]:
    """Reads the training functions of files that no program has called, with arguments that cannot be told."""
    found: dict[str, Outcome] = {}
    for name in names:
        tree = project.tree(name)
        if tree is None:
            continue
        outcome = found[name] = Outcome(files={name})
        entered = set(called)
        deadline = time.process_time() + limit
        for cls, function, node in uncalled(tree, {line for file, line in called if file == name}):
            if (name, node.lineno) in entered:
                continue
            left = deadline - time.process_time()
            if left <= 0:
                outcome.notes.append(f"{name}: took longer than {limit:g} s, not read to its end")
                break
            _read(project, outcome, name, as_function(name, _module_name(name), cls, function), left)
            entered |= outcome.called
    return found


def _read(project: Project, outcome: Outcome, name: str, start: Any, limit: float) -> None:
    try:
        findings, called, files = read_program(project, start, limit)
    except Exception as error:  # a fault of ours must not cost the user the other files
        if os.environ.get("SECONDPASS_DEBUG"):
            raise
        outcome.notes.append(f"{name}: could not be read to its end ({type(error).__name__})")
        return
    outcome.called |= called
    outcome.files |= files
    outcome.findings += findings


def _module_name(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]


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
