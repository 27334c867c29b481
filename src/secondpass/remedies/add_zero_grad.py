# SPDX-License-Identifier: BSD-3-Clause
"""add-zero-grad: clear the gradients once per step."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Place, Remedy
from .edit.source import Source
from .find.flow import dotted, method_call, reads, simple
from .find.project import Project, Scope
from .other import leaves_pass_out
from .proposal import Way
from .rewrite.arguments import pass_calls

__all__ = ["propose"]

_WHY = "every step then applies the gradient of its own passes only"


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Before the first pass of the turn that steps; behind the step where several passes share one."""
    places = [p for p in (remedy.place, finding.failed, finding.used, finding.freed) if p]
    if finding.facts.get("closure") and remedy.target:
        yield from _in_closure(remedy, project)
        return
    if finding.cause == "stale-gradient":
        yield from _applied(finding, project)
        return
    here = project.at(remedy.place) if finding.facts.get("right_before") else None
    if here:
        way = Way(title=f"Clear the gradients with `{remedy.target}.zero_grad()`", safe=True, why=_WHY)
        way.patch.insert_before(*here, [f"{remedy.target}.zero_grad()"])
        yield way
        return
    for source, scope in project.scopes(*places):
        for step in sorted(_steps(source, scope, project), key=lambda s: project.optimizer_of(s) != remedy.target):
            optimizer = project.optimizer_of(step)
            if not optimizer:
                continue
            way = Way(title=f"Clear the gradients with `{optimizer}.zero_grad()`", safe=True, why=_WHY)
            if _counted(source, step):
                way.patch.insert_after(source, step, [f"{optimizer}.zero_grad()"])
                way.why = "behind the step: the turns between two steps add their gradients up on purpose"
            else:
                way.patch.insert_before(source, _first_pass(source, scope, step, project), [f"{optimizer}.zero_grad()"])
            yield way
    if line := finding.facts.get("step"):  # it stands in another function than the pass: a context manager, a helper
        yield from _behind(project, Place(line["file"], line["line"]), _WHY, safe=True)
    for source in project.sources:
        scopes: list[Scope] = [source.module, *source.functions]
        for one in scopes:
            yield from _by_hand(source, one)


def _applied(finding: Finding, project: Project) -> Iterator[Way]:
    """What a step has applied goes: the next step, where no pass has come since, then finds nothing."""
    yield from _behind(project, finding.failed, "a step without a new pass then finds no gradient, and changes nothing")


def _behind(project: Project, place: Place | None, why: str, *, safe: bool = False) -> Iterator[Way]:
    """Behind a step, where nobody reads what it has applied."""
    here = project.at(place)
    call = method_call(here[1], "step") if here and isinstance(here[1], cst.SimpleStatementLine) else None
    if here and call is not None and isinstance(call.func, cst.Attribute) and not call.args:
        if any(isinstance(s, cst.If) and leaves_pass_out(here[0], s) for s in here[0].block(here[1])):
            return
        optimizer = here[0].code(call.func.value)
        way = Way(title=f"Clear the gradients of `{optimizer}` behind its step", safe=safe, why=why)
        way.patch.insert_after(*here, [f"{optimizer}.zero_grad()"])
        yield way


def _in_closure(remedy: Remedy, project: Project) -> Iterator[Way]:
    """In the function that the optimizer calls, before its pass."""
    for source, scope in project.scopes(*([remedy.place] if remedy.place else [])):
        for statement in simple(source.body(scope)):
            if isinstance(statement, cst.SimpleStatementLine) and pass_calls(statement):
                way = Way(title=f"Clear the gradients with `{remedy.target}.zero_grad()`", safe=True, why=_WHY)
                way.patch.insert_before(source, statement, [f"{remedy.target}.zero_grad()"])
                yield way
                return


def _steps(source: Source, scope: Scope, project: Project) -> list[cst.SimpleStatementLine]:
    return [
        s
        for s in simple(source.body(scope))
        if isinstance(s, cst.SimpleStatementLine) and method_call(s, "step") and project.optimizer_of(s)
    ]


def _counted(source: Source, step: cst.BaseStatement) -> bool:
    """The step stands under a condition that counts: `if (i + 1) % 4 == 0`."""
    for outer in source.up(step):
        if isinstance(outer, cst.For | cst.While | cst.FunctionDef):
            return False
        if isinstance(outer, cst.If):
            return "%" in source.code(outer.test)
    return False


def _first_pass(source: Source, scope: Scope, step: cst.BaseStatement, project: Project) -> cst.BaseStatement:
    """The statement, in the block of the loop that steps, that comes to the first pass since another step."""
    loops = source.loops(step)
    body = source.body(loops[0]) if loops else source.body(scope)
    before = [s for s in simple(body) if source.order(s) < source.order(step)]
    passes = [s for s in before if pass_calls(s)]
    if not passes:
        return source.within(step, body) or body[0]
    others = [s for s in before if project.optimizer_of(s) and source.order(s) < source.order(passes[-1])]
    first = next(p for p in passes if not others or source.order(p) > source.order(others[-1]))
    return source.within(first, body) or first


def _by_hand(source: Source, scope: Scope) -> Iterator[Way]:
    """Parameters updated without an optimizer: `p -= lr * p.grad`, `p.data.add_(p.grad, alpha=-lr)`."""
    way, cleared = Way(safe=True, why=_WHY), []
    for statement in simple(source.body(scope)):
        if not isinstance(statement, cst.SimpleStatementLine):
            continue
        small = statement.body[0]
        owner = None
        if isinstance(small, cst.AugAssign):
            owner = (dotted(small.target) or "").removesuffix(".data")
        elif (
            isinstance(small, cst.Expr)
            and isinstance(small.value, cst.Call)
            and isinstance(small.value.func, cst.Attribute)
        ):
            owner = (dotted(small.value.func.value) or "").removesuffix(".data")
        if owner and reads(statement, f"{owner}.grad"):
            way.patch.insert_after(source, statement, [f"{owner}.grad = None"])
            cleared.append(f"`{owner}.grad`")
    if cleared:
        way.title = f"Clear {', '.join(cleared)} behind the update"
        yield way
