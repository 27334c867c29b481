# SPDX-License-Identifier: BSD-3-Clause
"""Findings with their remedies written out."""

from __future__ import annotations

import ast
import dataclasses
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from ..causes import find
from ..record import Edit, Finding, Remedy
from .edit.patch import diff_of, edits_of
from .find.project import Project
from .proposal import Way
from .rewrite.accumulator import averaged
from .rewrite.cached import uncached

__all__ = ["attach", "candidates"]

_FORMS = 4
_CUTTING = {"detach", "item"}
"""Kinds that end history."""


def attach(finding: Finding, root: Path | None = None, sources: dict[str, str] | None = None) -> Finding:
    """The finding with `edits` and `diff` filled in for each remedy that can be written. Never raises."""
    try:
        project = Project(root, sources)
        project.open(finding)
        out = []
        for remedy in finding.remedies:
            ways = _ways(finding, remedy, project)
            first = next(ways, remedy)
            out.append(dataclasses.replace(first, title=remedy.title, why=remedy.why or first.why))
        return dataclasses.replace(finding, remedies=tuple(out))
    except Exception:
        # A message without a patch is still a message; this runs while somebody else's program is failing.
        if os.environ.get("SECONDPASS_DEBUG"):
            raise
        return finding


def candidates(finding: Finding, project: Project) -> tuple[Remedy, ...]:
    """Every repair that could be right, best first, each with edits; no two with the same result."""
    project.open(finding)
    if finding.facts.get("in_turn") or finding.facts.get("callers"):
        return ()  # one pass for all the optimizers, or by one of two callers: which is meant is the author's to say
    asked = list(finding.remedies)
    kinds = [r.kind for r in asked]
    place = finding.failed
    if finding.cause in {"carried-state", "stored-history"} and finding.carrier and "recompute" not in kinds:
        # A cache is no state: what it holds depends on parameters, and to detach it would freeze it.
        if any(True for _ in uncached(finding, finding.carrier.name, project)):
            asked.insert(0, Remedy("recompute", "Recompute", target=finding.carrier.name, place=place))
    if finding.cause == "accumulated-loss" and _of_self(finding) and not averaged(finding):
        # Nobody wants the sum over all time of what a network computes; to cut it off would be to train without it.
        asked = [r for r in asked if r.kind == "other"] + [r for r in asked if r.kind != "other"]
        if "other" not in kinds:
            kinds.append("other")
            asked.insert(
                0, Remedy("other", "Start anew", target=finding.carrier.name if finding.carrier else "", place=place)
            )
    if finding.cause in {"step-between", "crossed-networks"} and "inputs" not in kinds:
        # Before all that changes values; behind a detach, which says the same in fewer words.
        at = 0 if not kinds or kinds[0] != "detach" else 1
        asked.insert(at, Remedy("inputs", "Stop at its own parameters", place=place))
    if finding.cause == "repeated-backward" and "retain-graph" not in kinds:
        # Before a second forward, which draws its random numbers again and counts its batch twice.
        asked.insert(
            kinds.index("recompute") if "recompute" in kinds else 0,
            Remedy("retain-graph", "Keep the graph", place=place),
        )
    if finding.cause == "repeated-backward" and finding.facts.get("moves") and "other" not in kinds:
        asked.append(Remedy("other", "Remove the second pass", place=place))
    if finding.cause == "stale-gradient" and kinds[:1] == ["other"] and "add-zero-grad" not in kinds:
        asked.append(Remedy("add-zero-grad", "Clear the gradients behind the step", place=place))
    known = find(finding.cause)
    for kind in known.tried if known is not None else ():
        if kind not in kinds:
            name = finding.carrier.name if finding.carrier else ""
            asked.append(Remedy(kind, kind.replace("-", " ").capitalize(), target=name, place=place))
    if finding.remedies and finding.remedies[0].kind not in _CUTTING:
        # Where gradients are meant to flow, a cut is no second best: better no repair than one that trains something else.
        asked = [r for r in asked if r.kind not in _CUTTING]
    if finding.facts.get("apart"):
        asked = [r for r in asked if r.kind != "combine-losses"]
    seen: set[str] = set()
    out: list[Remedy] = []
    for remedy in asked:
        for found in _ways(finding, remedy, project):
            if found.diff not in seen:
                seen.add(found.diff)
                out.append(found)
    # Many forms of one kind must not keep the other kinds from being tried.
    rank = {id(r): sum(o.kind == r.kind for o in out[:i]) >= _FORMS for i, r in enumerate(out)}
    return tuple(sorted(out, key=lambda r: rank[id(r)]))


def _of_self(finding: Finding) -> bool:
    return finding.carrier is not None and finding.carrier.name.startswith("self.")


def _ways(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Remedy]:
    """The forms of one kind of remedy, as remedies with edits."""
    try:
        propose = import_module(f".{remedy.kind.replace('-', '_')}", __package__).propose
    except ModuleNotFoundError:
        return
    ways: Iterator[Way] = iter(propose(finding, remedy, project))
    while True:
        try:
            way = next(ways)
        except StopIteration:
            return
        except Exception:  # one form that we cannot write must not take the others with it
            if os.environ.get("SECONDPASS_DEBUG"):
                raise
            return
        found = _written(way, remedy, finding.sure)
        if found:
            yield found


def _within_one_function(texts: dict[str, str], edits: tuple[Edit, ...]) -> bool:
    """Whether all that changes stands in one function; an import that is added does not count."""
    found = set()
    for edit in edits:
        if not edit.old and edit.new.startswith("import "):
            continue
        spans = [
            (node.lineno, node.end_lineno or node.lineno)
            for node in ast.walk(ast.parse(texts[edit.file]))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        last = edit.line + edit.old.count("\n") if edit.old else edit.line
        around = [span for span in spans if span[0] <= edit.line and last <= span[1] + (not edit.old)]
        found.add((edit.file, max(around, default=(0, 0))))
    return len(found) <= 1


def _written(way: Way, remedy: Remedy, sure: bool) -> Remedy | None:
    try:
        new = way.patch.result()
    except ValueError:
        return None
    old = way.patch.originals()
    if not new:
        return None
    for file, text in new.items():
        try:
            ast.parse(text, file)
        except (SyntaxError, ValueError):
            return None
    edits = tuple(e for file in sorted(new) for e in edits_of(file, old[file], new[file]))
    return dataclasses.replace(
        remedy,
        title=way.title or remedy.title,
        safe=way.safe and sure and _within_one_function(old, edits),
        why=way.why,
        edits=edits,
        diff=diff_of(old, new),
    )
