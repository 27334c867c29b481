# SPDX-License-Identifier: BSD-3-Clause
"""Where state crosses from one iteration to the next: the place for a detach.

NOTE [ Where to cut ]
1. After the pass that frees, never inside the forward: a forward that is called several times before one pass (a step
   of time at a time) needs the history between its calls.
2. After the last assignment of the name in that turn of the loop, be it in a function that is called there, or the next line
   would bring the history back.
3. Under the same condition as the pass: a pass every k-th turn wants the history of k turns.
4. Everything that crosses together is cut together: of `h` and `c`, one alone repairs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import libcst as cst

from ...record import Finding, Place
from ..edit.source import Loop, Source, walk
from .flow import base_of, calls, carried_in, dotted, plain, simple, written
from .items import items_with, sees
from .project import Project, Scope, pairs_of

__all__ = [
    "Crossing",
    "anchor_of",
    "crossings",
    "declared",
    "is_update",
    "item_crossings",
    "may_be_none",
    "past_updates",
]

_UPDATES = {"step", "clip_grad_norm_", "clip_grad_value_", "zero_grad", "update"}


@dataclass(frozen=True)
class Crossing:
    """Put the cut behind (or before) a statement."""

    source: Source
    anchor: cst.BaseStatement
    names: tuple[str, ...]
    after: bool = True
    guard: bool = False
    """The first value may be None."""


def crossings(finding: Finding, name: str, project: Project) -> Iterator[Crossing]:
    """The places where a name crosses, best first.

    Before what builds it anew behind the pass nothing is cut: whether the next pass is to train through that is not known."""
    for one in _crossings(finding, name, project):
        scope, around = one.source.scope(one.anchor), one.source.loops(one.anchor)
        later = [s for s in _building(finding, one.source, scope) if one.source.order(s) > one.source.order(one.anchor)]
        if not any(around and around[0] in one.source.loops(s) for s in later):
            yield one


def _crossings(finding: Finding, name: str, project: Project) -> Iterator[Crossing]:
    name = base_of(name)
    places = [p for p in (finding.freed, finding.failed, finding.used) if p]
    for source, scope in project.scopes(finding.freed, finding.failed, finding.used, finding.built):
        if not _owns(source, scope, name):
            continue
        for place in places:
            yield from _after_pass(finding, project, source, scope, name, place)
    yield from _behind_yield(finding, name, project)
    if "." in name:
        yield from _through_object(finding, name, project)
    for source, scope in project.scopes(finding.used, finding.built, finding.failed):
        if isinstance(scope, cst.FunctionDef) and _owns(source, scope, name):
            body = source.body(scope)
            if body and carried_in(body, name):
                anchor, after = _head_of(source, scope)
                names = _together(project, source, scope, body, name)
                yield Crossing(source, anchor, names, after, guard=may_be_none(project, name))


def _behind_yield(finding: Finding, name: str, project: Project) -> Iterator[Crossing]:
    """A generator hands out what it computes and goes on with its state: the pass lies in between, where it waits."""
    here = project.at(finding.built)
    scope = here[0].scope(here[1]) if here else None
    if here is None or not isinstance(scope, cst.FunctionDef):
        return
    source = here[0]
    for statement in simple(source.body(scope)):
        waits = isinstance(statement, cst.SimpleStatementLine) and any(
            isinstance(n, cst.Yield) for n in walk(statement)
        )
        loops = source.loops(statement) if waits else []
        loop = next((lp for lp in loops if carried_in(source.body(lp), name)), None)
        if loop is not None:
            yield Crossing(source, statement, (name,))


def item_crossings(finding: Finding, name: str, project: Project) -> Iterator[Crossing]:
    """The same for items of a container, which are assigned one by one: `state["h"]`.

    That can be done from wherever the container is seen, be it a global, an argument or an argument's default.
    """
    if "[" not in name:
        return
    items = items_with(project, name) or (base_of(name),)
    for source, scope in project.scopes(finding.freed, finding.failed, finding.used, finding.built):
        if not sees(source, scope, base_of(name).split(".")[0]):
            continue
        for place in (finding.freed, finding.failed, finding.used):
            for cut in _after_pass(finding, project, source, scope, plain(name), place, lasting=True) if place else ():
                yield replace(cut, names=items)


def _after_pass(
    finding: Finding,
    project: Project,
    source: Source,
    scope: Scope,
    name: str,
    place: Place,
    lasting: bool = False,
) -> Iterator[Crossing]:
    sites = project.sites(source, scope, place)
    if not sites or project.lasts(source, sites[-1]):
        return
    site = sites[-1]
    loops = source.loops(site)
    loop = next((lp for lp in loops if carried_in(source.body(lp), name)), None)
    if loop is None:
        # An attribute or a global may be carried by functions that the loop calls, or by calls of this function.
        if not (lasting or "." in name or declared(source, scope, name)):
            return
        loop = loops[0] if loops else None
    region = source.body(loop) if loop is not None else source.body(scope)
    anchor = anchor_of(finding, project, source, scope, site, loop, {name})
    if anchor is None:
        return
    yield Crossing(source, anchor, _together(project, source, scope, region, name))


def anchor_of(
    finding: Finding,
    project: Project,
    source: Source,
    scope: Scope,
    site: cst.BaseStatement,
    loop: Loop | None,
    names: set[str],
) -> cst.BaseStatement | None:
    """The statement behind which a cut belongs: see NOTE [ Where to cut ]. None where the function leaves there."""
    region = source.body(loop) if loop is not None else source.body(scope)
    anchor = _level(source, site, loop)
    tracked = project.tracked(source, scope)
    late = [
        s
        for s in simple(region)
        for name in names & written(s)
        if source.order(s) > source.order(anchor) and _brings_history(project, s, name, tracked)
    ]
    late += [s for s in _building(finding, source, scope) if s in region and source.order(s) > source.order(anchor)]
    if late:
        anchor = _level(source, max(late, key=source.order), loop)
    anchor = past_updates(source, anchor)
    return None if _leaves(anchor) else anchor


def _building(finding: Finding, source: Source, scope: Scope) -> Iterator[cst.BaseStatement]:
    """The calls in a function that were seen to build what is carried: a method that assigns an attribute."""
    for one in (finding.facts.get("built_stack") or ())[1:]:
        statement = source.at(one["line"]) if one["file"] == source.file else None
        if statement is not None and source.scope(statement) is scope:
            yield statement


def _level(source: Source, statement: cst.BaseStatement, loop: Loop | None) -> cst.BaseStatement:
    """The statement, or the inner loop around it: cuts belong to the loop that carries (rule 3 keeps an `if`)."""
    for inner in reversed(source.loops(statement)):
        if loop is None or (inner is not loop and source.inside(inner, loop)):
            return inner
    return statement


def past_updates(source: Source, anchor: cst.BaseStatement) -> cst.BaseStatement:
    """Behind the step that belongs to the pass: that is where people write it."""
    block = source.block(anchor)
    for following in block[next((i for i, s in enumerate(block) if s is anchor), len(block)) + 1 :]:
        if not is_update(following):
            break
        anchor = following
    return anchor


def is_update(statement: cst.BaseStatement) -> bool:
    """Whether a statement does nothing but clip, step or clear."""
    if not isinstance(statement, cst.SimpleStatementLine) or not isinstance(statement.body[0], cst.Expr):
        return False
    return any((dotted(c.func) or "").rsplit(".", 1)[-1] in _UPDATES for c in calls(statement))


def _leaves(statement: cst.BaseStatement) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and any(
        isinstance(s, cst.Return | cst.Raise | cst.Continue | cst.Break) for s in statement.body
    )


def _brings_history(project: Project, statement: cst.BaseStatement, name: str, tracked: set[str]) -> bool:
    for small in getattr(statement, "body", []) if isinstance(statement, cst.SimpleStatementLine) else []:
        value = getattr(small, "value", None)
        if value is not None and project.gives_history(value, tracked | {name}):
            return True
    return False


def _together(
    project: Project, source: Source, scope: Scope, region: list[cst.BaseStatement], name: str
) -> tuple[str, ...]:
    """The name and its companions: assigned from history in this region and read in its next turn (rule 4)."""
    tracked = project.tracked(source, scope)
    regions = [region]
    if name.startswith("self."):
        owner = source.class_of(scope)
        regions += [
            source.body(f)
            for f in source.functions
            if owner is not None and source.class_of(f) is owner and f is not scope
        ]
    found = [name]
    for body in regions:
        own = [s for s in simple(body) if isinstance(s, cst.SimpleStatementLine) and isinstance(s.body[0], cst.Assign)]
        for statement in own:
            for other in sorted(written(statement)):
                if other in found or "[" in other or ("." in other) != ("." in name) or other.split(".")[0] == "_":
                    continue
                if name.rpartition(".")[0] != other.rpartition(".")[0] or not carried_in(body, other):
                    continue
                if _brings_history(project, statement, other, tracked | {name}) and not _module_like(project, other):
                    found.append(other)
    return tuple(found)


def _module_like(project: Project, name: str) -> bool:
    return any(name in modules for modules in project.optimizers.values()) or name in project.optimizers


def _owns(source: Source, scope: Scope, name: str) -> bool:
    """Whether assigning the name in this function changes the variable that is meant."""
    first = name.split(".")[0]
    if isinstance(scope, cst.Module):
        return any(first in {w.split(".")[0] for w in written(s)} for s in simple(source.body(scope)))
    parameters = (*scope.params.params, *scope.params.kwonly_params)
    if any(p.name.value == name and isinstance(p.default, cst.Dict | cst.List | cst.Set) for p in parameters):
        return False  # the next call begins with the container that the function was made with
    params = {p.name.value for p in parameters}
    heads = {w.split(".")[0] for s in simple(source.body(scope)) for w in written(s)}
    local = {head for head in heads if "[" not in head}  # to assign an item is not to assign the name
    if "." in name:
        if first == "self":
            owner = source.class_of(scope)
            return (
                "self" in params
                and owner is not None
                and any(
                    name in written(s)
                    for f in source.functions
                    if source.class_of(f) is owner
                    for s in simple(source.body(f))
                )
            )
        return first in params | local or declared(source, scope, first) or _outer(source, scope, first)
    return first in params | local


def _outer(source: Source, scope: Scope, name: str) -> bool:
    return any(name in written(s) for s in simple(source.body(source.module)))


def declared(source: Source, scope: Scope, name: str) -> bool:
    """`global name` or `nonlocal name`."""
    for statement in simple(source.body(scope)):
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.Global | cst.Nonlocal) and name in {n.name.value for n in small.names}:
                return True
    return False


def _through_object(finding: Finding, name: str, project: Project) -> Iterator[Crossing]:
    """`self.h` of a module, cut where the training loop knows the module as `model`: `model.h`."""
    attribute = name.rpartition(".")[2]
    owners = {
        source.class_of(f).name.value  # type: ignore[union-attr]
        for source in project.sources
        for f in source.functions
        if source.class_of(f) is not None
        for s in simple(source.body(f))
        if f"self.{attribute}" in written(s)
    }
    bound = {
        target
        for source in project.sources
        for s in simple(source.module, nested=True)
        if isinstance(s, cst.SimpleStatementLine)
        for small in s.body
        if isinstance(small, cst.Assign)
        for target, call in pairs_of(small, small.value)
        if (dotted(call.func) or "").rsplit(".", 1)[-1] in owners
    }
    bound |= _aliases(project, bound)
    for place in [p for p in (finding.freed, finding.failed) if p]:
        for source, scope in project.scopes(place):
            sites = project.sites(source, scope, place)
            if not sites or project.lasts(source, sites[-1]):
                continue
            if isinstance(scope, cst.Module) and not source.loops(sites[-1]):
                continue
            called = [dotted(c.func) or "" for c in calls(scope) if dotted(c.func)]
            here = [k for k in sorted(bound, key=len) if any(c == k or c.startswith(k + ".") for c in called)]
            here += [k for k in sorted(bound) if k not in here and k.startswith("self.") and _owns(source, scope, k)]
            anchor = past_updates(source, sites[-1])
            for known in here if not _leaves(anchor) else ():
                yield Crossing(source, anchor, _together_on(project, attribute, known))


def _aliases(project: Project, bound: set[str]) -> set[str]:
    """`self.agent = agent` gives the object a second name."""
    return {
        name
        for source in project.sources
        for s in simple(source.module, nested=True)
        if isinstance(s, cst.SimpleStatementLine)
        for small in s.body
        if isinstance(small, cst.Assign) and dotted(small.value) in bound
        for name in written(s)
    }


def _together_on(project: Project, attribute: str, known: str) -> tuple[str, ...]:
    for source in project.sources:
        for f in source.functions:
            body = source.body(f)
            if any(f"self.{attribute}" in written(s) for s in simple(body)) and carried_in(body, f"self.{attribute}"):
                names = _together(project, source, f, body, f"self.{attribute}")
                return tuple(known + n.removeprefix("self") for n in names)
    return (f"{known}.{attribute}",)


def _head_of(source: Source, scope: cst.FunctionDef) -> tuple[cst.BaseStatement, bool]:
    """Where a function's work begins: behind its docstring and `global`, before its first statement."""
    body = source.body(scope)
    last = None
    for statement in body:
        small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        doc = isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString | cst.ConcatenatedString)
        if not (doc or isinstance(small, cst.Global | cst.Nonlocal)):
            break
        last = statement
    return (last, True) if last is not None else (body[0], False)


def may_be_none(project: Project, name: str) -> bool:
    """Whether somewhere a name is given None."""
    name = plain(name)
    for source in project.sources:
        for statement in simple(source.module, nested=True):
            # `self.h` may have its first value in the body of the class.
            bare = name.removeprefix("self.") if isinstance(source.owner(statement), cst.ClassDef) else name
            if not {name, bare}.isdisjoint(written(statement)):
                for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
                    value = getattr(small, "value", None)
                    if isinstance(value, cst.Name) and value.value == "None":
                        return True
    return False
