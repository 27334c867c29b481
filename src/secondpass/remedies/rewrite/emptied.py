# SPDX-License-Identifier: BSD-3-Clause
"""Lists that are filled for one update and never emptied: emptied behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from ...record import Finding, Place
from ..edit.source import Source, walk
from ..find.crossing import past_updates
from ..find.flow import base_of, calls, dotted, names_read, simple, written
from ..find.project import Project
from ..find.stores import same_holder
from ..proposal import Way

__all__ = ["emptied"]

_FILLS = {"append", "extend", "appendleft"}
_EMPTIES = {"clear", "pop", "popleft"}
_ENTRY = re.compile(r'([\w.]+)\["([^"\]]+)"\]\[')


def emptied(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """`policy.log_probs`, and what was collected along with it, once the step has used them."""
    if finding.failed is None:
        return
    filled, kept = _lists(project)
    for source, scope in project.scopes(finding.failed):
        for site in project.sites(source, scope, finding.failed)[-1:]:
            before = [s for s in simple(source.body(scope)) if source.order(s) <= source.order(site)]
            read = {n for s in before for n in names_read(s) if "[" not in n}
            mine = sorted(n for n in read if _among(n, filled) and not _among(n, kept))
            own = [n for n in mine if same_holder(n, base_of(name))]
            if not own:
                continue
            prefix = own[0].rpartition(".")[0]
            together = [own[0], *(n for n in mine if n != own[0] and n.rpartition(".")[0] == prefix)]
            way = Way(title=f"Empty `{own[0]}` behind the step", safe=True)
            way.why = "every update then uses what was collected since the last one"
            way.patch.insert_after(source, past_updates(source, site), [f"{n}.clear()" for n in together])
            yield way
    entry = _ENTRY.match(name)
    if entry is not None:
        yield from _entry_emptied(finding.failed, f'{entry[1]}["{entry[2]}"]', project)


def _entry_emptied(failed: Place, entry: str, project: Project) -> Iterator[Way]:
    """One of the lists in a dictionary, `history["logp"]`, which nobody empties yet."""
    said = {entry, entry.replace('"', "'")}
    everywhere = [c for source in project.sources for s in simple(source.module, nested=True) for c in _on(source, s)]
    if any(holder in said and method in _EMPTIES for holder, method in everywhere):
        return
    for source, scope in project.scopes(failed):
        for site in project.sites(source, scope, failed)[-1:]:
            before = [s for s in simple(source.body(scope)) if source.order(s) <= source.order(site)]
            if any(isinstance(n, cst.Subscript) and source.code(n) in said for s in before for n in walk(s)):
                way = Way(title=f"Empty `{entry}` behind the step", safe=True)
                way.why = "every update then uses what was collected since the last one"
                way.patch.insert_after(source, past_updates(source, site), [f"{entry}.clear()"])
                yield way


def _on(source: Source, statement: cst.BaseStatement) -> Iterator[tuple[str, str]]:
    """What methods are called on, and which."""
    for call in calls(statement) if isinstance(statement, cst.SimpleStatementLine) else ():
        if isinstance(call.func, cst.Attribute):
            yield source.code(call.func.value), call.func.attr.value


def _among(name: str, names: set[str]) -> bool:
    return any(same_holder(name, n) for n in names)


def _lists(project: Project) -> tuple[set[str], set[str]]:
    """The names of lists that are filled, and of those that somebody empties already."""
    filled: set[str] = set()
    gone: set[str] = set()
    for source in project.sources:
        for statement in simple(source.module, nested=True):
            for call in calls(statement) if isinstance(statement, cst.SimpleStatementLine) else ():
                if isinstance(call.func, cst.Attribute) and (holder := dotted(call.func.value)):
                    if call.func.attr.value in _FILLS:
                        filled.add(holder)
                    elif call.func.attr.value in _EMPTIES:
                        gone.add(holder)
            gone |= {base_of(n) for n in _deleted(statement)}
            if _starts_again(source, statement):
                gone |= written(statement)
    return {n for n in filled if "[" not in n}, gone


def _deleted(statement: cst.BaseStatement) -> Iterator[str]:
    for node in walk(statement) if isinstance(statement, cst.SimpleStatementLine) else ():
        if isinstance(node, cst.Del):
            yield from (n for n in (dotted(node.target),) if n)


def _starts_again(source: Source, statement: cst.BaseStatement) -> bool:
    """Whether a list is made anew more than once: in a loop, or in a method that is not the constructor."""
    scope = source.scope(statement)
    first = isinstance(scope, cst.Module) or scope.name.value == "__init__"
    return bool(source.loops(statement)) or not first
