# SPDX-License-Identifier: BSD-3-Clause
"""Reading all projects: from the cache where nothing changed, in several processes where there is much to do."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from .cache import Cache, digest
from .files import shown_name
from .project import Project
from .reader import Called, Outcome, read_functions, read_programs, survey

if TYPE_CHECKING:
    from .read import Settings

__all__ = ["read_all"]

FEW = 8
"""Files to interpret below which another process costs more than it saves."""


class _Pool:
    """Processes, started when the first chunk of work is worth it."""

    def __init__(self, settings: Settings) -> None:
        count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.jobs = settings.jobs or count
        self.limit = settings.limit
        self._executor: Executor | None = None

    def run(self, project: Project, names: list[str], called: Called | None) -> dict[str, Outcome]:
        """Reads programs, or (with `called`) functions that were not called."""
        if self.jobs == 1 or len(names) < FEW or project.texts:
            return _read(project, names, called, self.limit)
        if self._executor is None:
            method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
            self._executor = ProcessPoolExecutor(self.jobs, multiprocessing.get_context(method))
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


_projects: dict[str, Project] = {}
"""In a worker: the project it read from last, with the trees it has parsed."""


def _chunk(root: str, names: list[str], called: Called | None, limit: float) -> dict[str, Outcome]:
    if root not in _projects:
        _projects.clear()
        _projects[root] = Project(Path(root), shown_name)
    return _read(_projects[root], names, called, limit)


def _read(project: Project, names: list[str], called: Called | None, limit: float) -> dict[str, Outcome]:
    return read_programs(project, names, limit) if called is None else read_functions(project, names, called, limit)


def read_all(projects: dict[str, list[str]], settings: Settings, texts: Mapping[str, str]) -> tuple[Outcome, int]:
    """Reads all projects; returns what came of it and how many files were interpreted."""
    outcome, count = Outcome(), 0
    pool = _Pool(settings)
    try:
        for root, files in projects.items():
            count += _project(pool, root, files, settings, texts, outcome)
    finally:
        pool.close()
    return outcome, count


def _project(
    pool: _Pool, root: str, files: list[str], settings: Settings, texts: Mapping[str, str], outcome: Outcome
) -> int:
    project = Project(Path(root), shown_name, texts)
    raw: dict[str, bytes | None] = {}

    def content(file: str) -> bytes | None:
        if file not in raw:
            raw[file] = project.content(file)
        return raw[file]

    def glance(file: str) -> str | None:
        data = content(shown_name(file))
        return None if data is None else data.decode("utf-8", "replace")

    found = survey(project, files, glance)
    if not found.programs:
        return 0
    cache = Cache(settings.cache, root, files, content)
    whole = Outcome()
    _pass(pool, project, cache, found.programs, None, whole)
    _pass(pool, project, cache, found.trains, set(whole.called), whole)
    cache.save()
    outcome.add(whole)
    return len(found.programs)


def _pass(pool: _Pool, project: Project, cache: Cache, names: list[str], called: Called | None, whole: Outcome) -> None:
    todo: list[str] = []
    for name in names:
        kept = cache.get(_entry(name, called), _extra(name, called))
        if kept is None:
            todo.append(name)
        else:
            whole.add(kept)
    for name, part in pool.run(project, todo, called).items():
        cache.put(_entry(name, called), part, _extra(name, called))
        whole.add(part)


def _entry(name: str, called: Called | None) -> str:
    return name if called is None else f"{name} functions"


def _extra(name: str, called: Called | None) -> str:
    if called is None:
        return ""
    return digest(repr(sorted(line for file, line in called if file == name)).encode())
