# SPDX-License-Identifier: BSD-3-Clause
"""Reading all projects: from the cache where nothing changed, in several processes where there is much to do."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .cache import Cache, digest
from .files.find_files import shown_name
from .files.prefilter import leads_to_training, survey
from .files.project import Project
from .report.denials import stands
from .report.outcome import Called, Outcome
from .settings import Settings

if TYPE_CHECKING:
    from concurrent.futures import Executor


__all__ = ["read_all"]

FEW = 8
"""Files to interpret below which another process costs more than it saves."""


class _Pool:
    """Processes, started when the first chunk of work is worth it."""

    def __init__(self, settings: Settings) -> None:
        count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.jobs = settings.jobs or count
        self.limit = settings.limit
        self.finish = settings.finish
        self._executor: Executor | None = None

    def run(self, project: Project, names: list[str], called: Called | None) -> dict[str, Outcome]:
        """Reads programs, or (with `called`) functions that were not called."""
        if self.jobs == 1 or len(names) < FEW or project.texts:
            return _read(project, names, called, self.limit) if names else {}
        if self._executor is None:
            self._executor = _start(self.jobs)
        found: dict[str, Outcome] = {}
        # Several chunks per process even out long files; neighbours stay together, for they import the same files.
        size = max(1, -(-len(names) // (self.jobs * 4)))
        chunks = [names[i : i + size] for i in range(0, len(names), size)]
        root = str(project.root)
        for part in [self._executor.submit(_chunk, root, chunk, called, self.limit) for chunk in chunks]:
            found.update(part.result())
        return found

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown()


def _start(jobs: int) -> Executor:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    from . import reader  # what is loaded before the fork is loaded once

    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    return ProcessPoolExecutor(jobs, multiprocessing.get_context(method), initializer=reader.ready)


_projects: dict[str, Project] = {}
"""In a worker: the project it read from last, with the trees it has parsed."""


def _chunk(root: str, names: list[str], called: Called | None, limit: float) -> dict[str, Outcome]:
    if root not in _projects:
        _projects.clear()
        _projects[root] = Project(Path(root), shown_name)
    return _read(_projects[root], names, called, limit)


def _read(project: Project, names: list[str], called: Called | None, limit: float) -> dict[str, Outcome]:
    # The interpreter takes longer to load than an unchanged project to look through.
    from .reader import read_functions, read_programs

    return read_programs(project, names, limit) if called is None else read_functions(project, names, called, limit)


def read_all(
    projects: dict[str, list[str]], settings: Settings, texts: Mapping[str, str], named: Collection[str] = ()
) -> tuple[Outcome, int]:
    """Reads all projects; returns what came of it and how many files were interpreted. `named` files are programs if they
    lead to training, in whichever file that is."""
    outcome, count = Outcome(), 0
    pool = _Pool(settings)
    try:
        for root, files in projects.items():
            count += _project(pool, root, files, settings, texts, outcome, named)
    finally:
        pool.close()
    return outcome, count


def _project(
    pool: _Pool,
    root: str,
    files: list[str],
    settings: Settings,
    texts: Mapping[str, str],
    outcome: Outcome,
    named: Collection[str],
) -> int:
    project = Project(Path(root), shown_name, texts)
    names = [project.add(file) for file in files]
    cache = Cache(settings.cache, project, names)
    found = survey(names, cache.glance)
    whole = Outcome()
    known = {*found.programs, *found.trains}
    asked = [n for f, n in zip(files, names, strict=True) if f in named and n not in known]
    programs = [*found.programs, *(n for n in asked if leads_to_training(project, n))]
    _pass(pool, project, cache, programs, None, whole)
    _pass(pool, project, cache, found.trains, whole.called, whole)
    cache.save()
    whole.findings = [f for f in whole.findings if stands(f, whole.denied)]
    outcome.add(whole)
    return len({*programs, *found.trains})


def _pass(pool: _Pool, project: Project, cache: Cache, names: list[str], called: Called | None, whole: Outcome) -> None:
    extras = _extras(called)
    entry = "{}" if called is None else "{} functions"
    todo: list[str] = []
    found = Outcome()
    for name in names:
        kept = cache.get(entry.format(name), extras.get(name, ""))
        if kept is None:
            todo.append(name)
        else:
            found.add(kept)
    for name, part in pool.run(project, todo, called).items():
        if pool.finish is not None:
            part.findings = pool.finish(part.findings)
        cache.put(entry.format(name), part, extras.get(name, ""))
        found.add(part)
    whole.add(found)


def _extras(called: Called | None) -> dict[str, str]:
    """What the reading of functions rests on besides files: the lines of each file that programs entered."""
    lines: dict[str, list[int]] = {}
    for file, line in called or ():
        lines.setdefault(file, []).append(line)
    return {file: digest(repr(sorted(found)).encode()) for file, found in lines.items()}
