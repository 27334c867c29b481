# SPDX-License-Identifier: BSD-3-Clause
"""detach: cut the history where it should have ended; the values go on.

Where that is depends on the cause: where state crosses the iteration (carried-state), where a tensor is stored
(stored-history), where one network's output enters the other network's loss (crossed-networks).
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Place, Remedy
from ._crossing import Crossing, crossings
from ._flow import dotted, history_slice, method_call, names_read, plain, reads, simple, written
from ._forms import detached, guess
from ._patch import Patch
from ._project import Project, Scope
from ._source import Source
from ._stores import wrapped_stores
from ._ways import Way

__all__ = ["propose"]

_CROSSES = "the value goes on, its history ends with the pass that has consumed it"
_STORED = "what is stored is used as a value; its history is spent by the first pass that walks it"


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Every place for the cut, best first."""
    name = remedy.target or (finding.carrier.name if finding.carrier else "")
    if not name:
        return
    crossing, stored, used = (
        _crossing(finding, name, project),
        _stored(finding, name, project),
        _used(finding, name, project),
    )
    if finding.cause == "crossed-networks":
        order = (used, stored)
    elif finding.cause in {"stored-history", "hoisted-forward", "graph-leak"}:
        order = (stored, used) if finding.cause == "graph-leak" else (stored, used, crossing)
    else:
        order = (crossing, used, stored)
    for ways in order:
        yield from ways


def _crossing(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    forms = guess(project, name)
    for form in forms[:4]:
        seen: set[int] = set()
        for cut in crossings(finding, name, project):
            if id(cut.anchor) in seen or len(seen) >= 3:
                continue
            seen.add(id(cut.anchor))
            yield _cut(cut, form, project)


def _cut(cut: Crossing, form: str, project: Project) -> Way:
    way = Way(title=f"Detach {_listed(cut.names)} where it crosses the iteration", safe=True, why=_CROSSES)
    lines = []
    for i, name in enumerate(cut.names):
        own = detached(name, form if i == 0 else guess(project, name)[0])
        lines += [f"if {name} is not None:", *(f"    {line}" for line in own)] if cut.guard else own
    insert = way.patch.insert_after if cut.after else way.patch.insert_before
    insert(cut.source, cut.anchor, lines)
    return way


def _listed(names: tuple[str, ...]) -> str:
    quoted = [f"`{n}`" for n in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def _stored(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    for patch, what in wrapped_stores(finding, name, project, ".detach()"):
        yield Way(patch, f"Store `{what}` without its history", safe=False, why=_STORED)


def _used(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """Detach at the reads that belong to one of the two passes only."""
    first = _reads_towards(project, finding.freed, name)
    second = _reads_towards(project, finding.failed or finding.used, name)
    shared = {id(r) for _, r in first} & {id(r) for _, r in second}
    order = [second, first] if _trains(project, finding, name) == "freed" else [first, second]
    if finding.cause != "crossed-networks":
        order = [second]
    for found in order:
        patch = Patch()
        for source, node in found:
            if id(node) not in shared:
                patch.append(source, node, ".detach()")
        if patch:
            yield Way(
                patch,
                f"Detach `{name}` where it enters the other loss",
                safe=True,
                why="that loss must not train what made it",
            )


def _reads_towards(project: Project, place: Place | None, name: str) -> list[tuple[Source, cst.CSTNode]]:
    """Reads of a name in the statements that a pass's root is computed from."""
    if place is None:
        return []
    for source, scope in project.scopes(place):
        for site in project.sites(source, scope, place)[-1:]:
            region = source.body(scope)
            chain = [*history_slice(source, site, names_read(site), None, region), site]
            chain = [s for s in chain if plain(name) not in written(s)]
            found = [(source, r) for s in chain for r in reads(s, name)]
            if found:
                return found
    return []


def _trains(project: Project, finding: Finding, name: str) -> str | None:
    """Which of the two passes trains the network that made the carrier: "freed", "failed" or None."""
    made: set[str] = set()
    for source in project.sources:
        scopes: list[Scope] = [source.module, *source.functions]
        for scope in scopes:
            body = source.body(scope)
            for statement in [s for s in simple(body) if plain(name) in written(s)]:
                made |= names_read(statement)
                for behind in history_slice(source, statement, names_read(statement), None, body):
                    made |= names_read(behind)
    for label, place in (("freed", finding.freed), ("failed", finding.failed)):
        if stepped(project, place) & made:
            return label
    return None


def stepped(project: Project, place: Place | None) -> set[str]:
    """The names of the networks whose optimizer steps next after a pass."""
    if place is None:
        return set()
    for source, scope in project.scopes(place):
        for site in project.sites(source, scope, place)[-1:]:
            for statement in simple(source.body(scope)):
                call = method_call(statement, "step") if source.order(statement) > source.order(site) else None
                if call is not None and isinstance(statement, cst.SimpleStatementLine):
                    optimizer = dotted(call.func.value) if isinstance(call.func, cst.Attribute) else None  # type: ignore[arg-type]
                    if optimizer in project.optimizers:
                        return project.optimizers[optimizer]
    return set()
