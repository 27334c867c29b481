# SPDX-License-Identifier: BSD-3-Clause
"""Reading the files of a project: as programs, and then the training functions that no program calls."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from typing import Any

from .entries import acts, as_function, as_program, uncalled
from .files.project import Project
from .interpreter.machine import Budget
from .limits import Overtime, sweep, unswept, within
from .program import read_program
from .report.outcome import Called, Outcome

__all__ = ["read_functions", "read_programs", "ready"]

STEPS = 300_000
"""What the readings of one file may take: about five seconds where nothing else runs."""


def ready() -> None:
    """In a process that only reads: no garbage collection but our own."""
    gc.disable()


def read_programs(project: Project, names: Iterable[str], limit: float) -> dict[str, Outcome]:
    """Reads files as programs; findings may lie in any file that they import.

    `limit`: seconds of CPU after which one is given up that hangs. How far reading goes is counted in steps.
    """
    with unswept():
        return {name: _program(project, name, limit) for name in names}


def _program(project: Project, name: str, limit: float) -> Outcome:
    project.trim()
    outcome = Outcome(files={name})
    source = project.source(name)
    outcome.look(name, source)
    if source is not None and source.tree is not None and acts(project, name, source.tree):
        _read(project, outcome, name, as_program(name), Budget(STEPS), limit)
    return outcome


def read_functions(project: Project, names: Iterable[str], called: Called, limit: float) -> dict[str, Outcome]:
    """Reads the training functions of files that no program has called, with arguments that cannot be told."""
    lines: dict[str, set[int]] = {}
    for file, line in called:
        lines.setdefault(file, set()).add(line)
    with unswept():
        return {name: _functions(project, name, lines.get(name, set()), limit) for name in names}


def _functions(project: Project, name: str, lines: set[int], limit: float) -> Outcome:
    project.trim()
    outcome = Outcome(files={name})
    source = project.source(name)
    outcome.look(name, source)
    tree = project.tree(name)
    budget = Budget(STEPS)
    for cls, function, node in uncalled(project, tree, lines) if tree is not None else ():
        if (name, node.lineno) in outcome.called:
            continue
        if budget.left < 0:
            outcome.notes.append(f"{name}: more than {STEPS:,} steps, not read to its end")
            break
        _read(project, outcome, name, as_function(name, _module_name(name), cls, function), budget, limit)
    return outcome


def _read(project: Project, outcome: Outcome, name: str, start: Any, budget: Budget, limit: float) -> None:
    try:
        with within(8 * limit):
            found = read_program(project, start, budget)
    except Overtime:
        outcome.notes.append(f"{name}: took longer than {8 * limit:g} s, not read to its end")
        return
    except Exception as error:  # a fault of ours must not cost the user the other files
        if os.environ.get("SECONDPASS_DEBUG"):
            raise
        outcome.notes.append(f"{name}: could not be read to its end ({type(error).__name__})")
        return
    finally:
        sweep()
    outcome.add(found)


def _module_name(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]
