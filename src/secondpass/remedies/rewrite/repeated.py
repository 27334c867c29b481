# SPDX-License-Identifier: BSD-3-Clause
"""The forward repeated: before a second pass, before every step, before an access to a graph that is spent."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ...record import Finding, Place
from ..detach import stepped
from ..edit.source import Source
from ..find.flow import dotted, history_slice, inputs_of, method_call, names_read, reads, simple, written
from ..find.project import Project, Scope
from ..proposal import Way
from .arguments import pass_calls
from .moves import makes_leaf, movable, put, readers

__all__ = ["before_second_pass", "for_access", "per_step"]


def before_second_pass(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """Repeats, between two passes of one function, what the second one's root is computed from."""
    if finding.freed is None or finding.failed is None:
        return
    writer = _writer(finding, project)
    own = stepped(project, finding.failed) if finding.cause == "crossed-networks" else set()
    for source, scope in project.scopes(finding.failed, finding.freed):
        first = project.sites(source, scope, finding.freed)
        second = project.sites(source, scope, finding.failed)
        if not first or not second or first[0] is second[-1] or source.order(first[0]) > source.order(second[-1]):
            continue
        one, two = first[0], second[-1]
        if finding.cause == "repeated-backward" and _now_and_then(finding, project, scope):
            continue  # what is called reads the loss in turns as well that make no second pass: it would read another one
        body = source.body(scope)
        tracked = project.tracked(source, scope)
        chosen = history_slice(source, two, names_read(two), tracked, body)
        chosen = [s for s in chosen if not makes_leaf(project, source, s) and source.order(s) < source.order(one)]
        last = _last_write(source, body, one, two)
        alone = _depending(chosen, own)
        given = set().union(*(written(s) for s in chosen if not any(s is a for a in alone)))
        given = {n for n in given & tracked if any(n in inputs_of(s) for s in alone)}
        ways = ((alone if given else [], given), (_depending(chosen, writer), set[str]()), (chosen, set[str]()))
        for part, data in ways:
            if not part:
                continue
            late = [
                s
                for s in history_slice(source, two, names_read(two), tracked, body)
                if source.order(s) > source.order(last)
            ]
            # Where the step stands in a loop of its own, behind that loop.
            block = source.block(two) if source.within(last, source.block(two)) else source.block(last)
            target = min([*late, two], key=source.order)
            anchor, after = source.within(target, block), False
            if anchor is None:
                anchor, after = last, True
            later = _read_later(source, part, body, two)
            # What is there already, and reads it for this pass, reads the new one.
            behind = later & set().union(*(names_read(s) for s in late)) - set().union(*(written(s) for s in late))
            later -= set().union(*(names_read(s) for s in late)) - behind
            # Of one loss that is sent through twice, what is reported is the first; but a pass to come may want the new one.
            own_name = later & names_read(two) if finding.cause == "repeated-backward" else set[str]()
            later -= names_read(two) - own_name - behind
            for reported in (later, later - own_name) if own_name else (later,):
                way = Way(
                    title="Run the forward again for the second pass",
                    safe=False,
                    why="the second pass sees the parameters as they are then, at the price of another forward",
                )
                if data:
                    # What another network has made is its own to train: this pass only needs its values.
                    names = ", ".join(f"`{n}`" for n in sorted(data))
                    way.title = f"Run the forward of what is stepped next again, on {names} as data"
                moved = movable(source, part, body, (0, source.order(two)), kept=reported)
                needed = set().union(names_read(two), *(inputs_of(s) for s in [*part, *late]))
                put(
                    way.patch,
                    source,
                    part,
                    anchor,
                    after=after,
                    moved=moved,
                    unwanted=_others(source, part, body, needed),
                    renamed=reported,
                    data=data,
                )
                for statement, anew in [(two, reported & (own_name | behind)), *((s, behind) for s in late)]:
                    for name in sorted(anew):
                        for node in reads(statement, name):
                            way.patch.replace(source, node, f"{name}_again")
                yield way


def _now_and_then(finding: Finding, project: Project, scope: Scope) -> bool:
    """Whether the way from a function to the second pass leads through a condition of a function that is called on it."""
    for one in finding.facts.get("used_stack") or ():
        here = project.at(Place(one["file"], one["line"], one.get("function", "")))
        if here is None or here[0].scope(here[1]) is scope:
            return False
        for outer in here[0].up(here[1]):
            if isinstance(outer, cst.FunctionDef):
                break
            if isinstance(outer, cst.If) and outer.orelse is None:
                return True
    return False


def _others(
    source: Source, repeated: list[cst.BaseStatement], body: list[cst.BaseStatement], needed: set[str]
) -> set[str]:
    """What repeated statements give besides what the pass needs, and somebody still reads: it keeps its value."""
    found = set().union(*(written(s) for s in repeated)) - needed
    return {n for n in found if any(not any(r is s for s in repeated) for r in readers(body, {n}))}


def _read_later(
    source: Source, repeated: list[cst.BaseStatement], body: list[cst.BaseStatement], two: cst.BaseStatement
) -> set[str]:
    """What repeated statements give, and statements behind the pass read: what they report is the forward that was."""
    later = [s for s in simple(body, nested=True) if source.order(s) > source.order(two)]
    names = set().union(*(written(s) for s in repeated))
    return {
        n for n in names if n.isidentifier() and any(source.order(r) > source.order(two) for r in readers(later, {n}))
    }


def _last_write(
    source: Source, body: list[cst.BaseStatement], one: cst.BaseStatement, two: cst.BaseStatement
) -> cst.BaseStatement:
    """The last step between two statements, or the first of them."""
    steps = [
        s for s in simple(body) if source.order(one) < source.order(s) < source.order(two) and method_call(s, "step")
    ]
    steps = [s for s in steps if isinstance(s, cst.SimpleStatementLine)]
    return steps[-1] if steps else one


def _writer(finding: Finding, project: Project) -> set[str]:
    """What was changed between: the network whose parameter a run saw changed, or those of the optimizer that stepped."""
    changed = [r.target for r in finding.remedies if r.kind == "reorder" and finding.cause == "step-between"]
    if any("." in target for target in changed):
        parts = changed[0].split(".")
        return {".".join(parts[:i]) for i in range(1, len(parts) + 1)} - {"self"}
    here = project.at(finding.freed)
    call = method_call(here[1], "step") if here else None
    if call is not None and isinstance(call.func, cst.Attribute):
        return project.optimizers.get(dotted(call.func.value) or "", set())
    return stepped(project, finding.freed)


def _depending(chosen: list[cst.BaseStatement], names: set[str]) -> list[cst.BaseStatement]:
    """Those statements that use what was changed, and what depends on them."""
    hot, out = set(names), []
    for statement in chosen:
        if names_read(statement) & hot:
            out.append(statement)
            hot |= written(statement)
    return out


def per_step(finding: Finding, project: Project) -> Iterator[Way]:
    """Clearing, forward and pass go into the loop that steps."""
    place = finding.failed
    for source, scope in project.scopes(place, finding.used, finding.freed):
        body = source.body(scope)
        for step in [s for s in simple(body) if isinstance(s, cst.SimpleStatementLine) and method_call(s, "step")]:
            loops = source.loops(step)
            if not loops:
                continue
            loop = loops[0]
            if any(pass_calls(s) for s in simple(source.body(loop))):
                continue
            passes = [
                s
                for s in simple(body)
                if pass_calls(s) and source.order(s) < source.order(loop) and isinstance(s, cst.SimpleStatementLine)
            ]
            if not passes:
                continue
            last = passes[-1]
            chain = history_slice(source, last, names_read(last), project.tracked(source, scope), body)
            chain = [s for s in chain if not makes_leaf(project, source, s) and _same_turn(source, s, loop)]
            clears = [
                s
                for s in simple(body)
                if method_call(s, "zero_grad") and source.order(s) < source.order(loop) and _same_turn(source, s, loop)
            ]
            group = sorted({id(s): s for s in [*chain, *clears, last]}.values(), key=source.order)
            way = Way(
                title="Compute loss and gradient in every step",
                safe=True,
                why="a gradient belongs to the parameters it was computed with",
            )
            inner = source.body(loop)
            if inner:
                put(way.patch, source, group, inner[0], moved=movable(source, group, body, (0, source.order(loop))))
                yield way


def _same_turn(source: Source, statement: cst.BaseStatement, loop: cst.CSTNode) -> bool:
    return all(source.inside(loop, outer) for outer in source.loops(statement)) and isinstance(
        statement, cst.SimpleStatementLine
    )


def for_access(finding: Finding, project: Project) -> Iterator[Way]:
    """A fresh graph, never sent through a pass, for whoever reads its buffers. Within a turn whose step has moved the parameters it
    would be another one; behind the last turn it is the one of what has been trained."""
    if finding.failed is None or finding.freed is None:
        return
    moves = bool(finding.facts.get("moves"))
    for source, scope in project.scopes(finding.failed):
        for site in project.sites(source, scope, finding.failed)[-1:]:
            body = source.body(scope)
            lines = [s for s in simple(body) if isinstance(s, cst.SimpleStatementLine)]
            passes = [s for s in lines if project.leads_to(source, s, finding.freed)]
            if moves and any(source.loops(s)[:1] == source.loops(site)[:1] for s in passes):
                continue
            tracked = project.tracked(source, scope)
            roots = {n for n in names_read(site) if n in tracked}
            chosen = history_slice(source, site, roots, tracked, body)
            chosen = [s for s in chosen if not makes_leaf(project, source, s)]
            if chosen and readers([site], set().union(*(written(s) for s in chosen))):
                way = Way(
                    title="Build the graph again for whoever reads it",
                    safe=not moves,
                    why="no pass has freed its buffers" + ("; it is that of the trained parameters" if moves else ""),
                )
                put(way.patch, source, chosen, site)
                yield way
