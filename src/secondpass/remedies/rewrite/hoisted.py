# SPDX-License-Identifier: BSD-3-Clause
"""A forward that was run once, outside the loop or closure: into it."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator

import libcst as cst

from ...record import Finding, Place
from ..edit.patch import Patch
from ..edit.source import Source, walk
from ..find.callers import arguments, calls_of, parameters_of
from ..find.flow import (
    assigned_value,
    base_of,
    calls,
    dotted,
    history_slice,
    method_call,
    names_read,
    reads,
    simple,
    written,
)
from ..find.project import Project, Scope
from ..proposal import Way
from .moves import lines_of, makes_leaf, movable, put, readers

__all__ = [
    "across_functions",
    "can_keep",
    "into_the_callee",
    "into_the_turn",
    "known_as",
    "slot_again",
    "substituted",
    "with_its_loop",
]

_WHY = "what depends on the parameters is computed with the parameters of this turn"


def into_the_turn(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """Moves the assignments behind a name into the loop or closure that sends it through a pass."""
    name = base_of(name)
    for source, scope in project.scopes(finding.failed, finding.used, finding.freed, finding.built):
        body = source.body(scope)
        starts = [s for s in simple(body) if name in written(s) and isinstance(s, cst.SimpleStatementLine)]
        starts = [s for s in starts if not makes_leaf(project, source, s)]
        if not starts:
            continue
        for region in _regions(finding, project, source, scope, name, starts[0]):
            for tracked in (project.tracked(source, scope) | {name}, None):
                chosen = history_slice(source, region, {name}, tracked, body)
                chosen = [s for s in chosen if not makes_leaf(project, source, s) and not source.inside(s, region)]
                # Only what stands in the same turn of the outer loops: a start value set elsewhere is not a forward.
                chosen = [s for s in chosen if not _in_other_loop(source, s, region)]
                if not chosen or not any(name in written(s) for s in chosen):
                    continue
                way = Way(title=f"Compute `{name}` inside {_word(region)}", safe=True, why=_WHY)
                _move_in(way.patch, source, body, region, chosen)
                yield way


def with_its_loop(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """What a loop has filled, before the loop that uses it: filled again for every turn."""
    name = base_of(name)
    for source, scope in project.scopes(finding.failed, finding.used, finding.freed, finding.built):
        starts = [
            s for s in simple(source.body(scope)) if name in written(s) and isinstance(s, cst.SimpleStatementLine)
        ]
        for region in _regions(finding, project, source, scope, name, starts[-1]) if starts else ():
            if not isinstance(region, cst.For | cst.While) or source.block(region) != source.block(starts[-1]):
                continue
            between = [
                s for s in source.block(region) if source.order(starts[-1]) < source.order(s) < source.order(region)
            ]
            fills = [s for s in between if isinstance(s, cst.For | cst.While) and _only_fills(source, s, name)]
            if not fills:
                continue
            unit = [starts[-1], *fills]
            lines = [line for s in unit for line in lines_of(source, s)]
            way = Way(title=f"Compute `{name}` again in every turn", safe=False, why=_WHY)
            made = {w for s in simple(unit) for w in written(s)}
            inner = source.body(region)
            first = readers(inner, {name})
            anchor = source.within(first[0], inner) if first else None
            if anchor is None:
                continue
            after = [s for s in inner if source.order(s) >= source.order(anchor)]
            if (made & written(region)) and readers(after, made & written(region)):
                # It gives the loop's own variable another value: behind the turn, where the next one is given its own.
                way.patch.insert_after(source, inner[-1], lines)
            else:
                way.patch.insert_before(source, anchor, lines)
            yield way


def _only_fills(source: Source, loop: cst.For | cst.While, name: str) -> bool:
    """Whether a loop puts things into a container, and makes no pass and no step."""
    inside = [s for s in simple(source.body(loop)) if isinstance(s, cst.SimpleStatementLine)]
    puts = [s for s in inside if name in {dotted(c.func.value) for c in calls(s) if isinstance(c.func, cst.Attribute)}]
    slots = [s for s in inside if f"{name}[...]" in written(s)]
    return bool(puts or slots) and not any(method_call(s, "backward", "step", "zero_grad") for s in inside)


def _word(region: cst.CSTNode) -> str:
    return f"`{region.name.value}`" if isinstance(region, cst.FunctionDef) else "the loop"


def _in_other_loop(source: Source, statement: cst.BaseStatement, region: cst.CSTNode) -> bool:
    return any(not source.inside(region, loop) for loop in source.loops(statement))


def _regions(
    finding: Finding, project: Project, source: Source, scope: Scope, name: str, start: cst.BaseStatement
) -> Iterator[cst.CSTNode]:
    """Loops and closures that read the name, come to the pass and do not contain the assignment; innermost first."""
    place = finding.failed or finding.used
    found: list[cst.CSTNode] = []
    for node in [
        n
        for f in [scope, *(g for g in walk(scope) if isinstance(g, cst.FunctionDef) and g is not scope)]
        for word in (name, *_readers_by_name(scope, name))
        for n in reads(f, word)
    ]:
        for outer in source.up(node):
            if outer is scope:
                break
            if (
                isinstance(outer, cst.For | cst.While | cst.FunctionDef)
                and not source.inside(start, outer)
                and source.body(outer)
            ):
                if source.order(outer) > source.order(start) and not any(outer is f for f in found):
                    found.append(outer)
    for region in sorted(found, key=lambda r: -source.order(r)):
        if place is None or project.leads_to(source, region, place):
            yield region


def _readers_by_name(scope: Scope, name: str) -> list[str]:
    """The functions within a function that read a name of it: who calls them reads it."""
    inner = [n for n in walk(scope) if isinstance(n, cst.FunctionDef) and n is not scope]
    return [f.name.value for f in inner if reads(f, name)]


def _move_in(
    patch: Patch, source: Source, body: list[cst.BaseStatement], region: cst.CSTNode, chosen: list[cst.BaseStatement]
) -> None:
    names = set().union(*(written(s) for s in chosen))
    names |= {word for name in names for word in _readers_by_name(source.scope(chosen[0]), name)}
    inner = source.body(region)
    first = readers(inner, names)
    anchor = (source.within(first[0], inner) if first else None) or inner[0]
    span = source.span(region)
    stays = 0, span.start
    moving = movable(source, chosen, body, stays)
    if isinstance(region, cst.FunctionDef):
        moving = movable(source, moving, body, (span.end, len(source.text)))
    elif isinstance(region, cst.While):
        moving = [s for s in moving if not written(s) & names_read(region.test)]
    # What was used before the loop already, and is reported behind it, stays what it was.
    stays_read = {w for s in chosen if not any(s is m for m in moving) for w in written(s) if w.isidentifier()}
    stays_read = {
        w for w in stays_read if not isinstance(region, cst.FunctionDef) and _read_behind(source, body, region, w)
    }
    put(patch, source, chosen, anchor, moved=moving, renamed=stays_read)
    for name in sorted(stays_read):
        for node in reads(region, name):
            patch.replace(source, node, f"{name}_again")


def _read_behind(source: Source, body: list[cst.BaseStatement], region: cst.CSTNode, name: str) -> bool:
    """Whether a name that a loop gives no value, and no function within reads, is read behind the loop."""
    if _readers_by_name(source.scope(region), name) or any(name in written(s) for s in simple(source.body(region))):
        return False
    return any(source.order(r) > source.span(region).end for r in readers(body, {name}))


def across_functions(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """An attribute (or global) that one function computes and another one's loop uses: assigned again in that loop.

    Local names of the computing function are written as the attributes that it stored them in.
    """
    name = base_of(name)
    home = _home(finding, project, name)
    if home is None:
        return
    source, scope = home
    names: set[str] | None = project.tracked(source, scope)
    body = source.body(scope)
    starts = [s for s in simple(body) if name in written(s)]
    value = assigned_value(starts[-1], name)
    if value is not None and not project.gives_history(value, names or set()):
        names = None  # a run saw that it has history; the source does not say from what
    chosen = history_slice(source, starts[-1], names_read(starts[-1]) - {name}, names, body)
    chosen = [s for s in [*chosen, starts[-1]] if not makes_leaf(project, source, s)]
    known = known_as(source, scope)
    local = {w for s in chosen for w in written(s)}
    own = {w for s in simple(body) for w in written(s)} | set(parameters_of(scope))
    free = {n for s in chosen for n in names_read(s) if "." not in n and "[" not in n} - local
    kept = sorted(n for n in free if n in own and n != "self" and n not in known)
    if kept and not can_keep(source, scope, name, kept):
        return
    known |= {n: f"self.{n}" for n in kept}
    lines = [substituted(line, known) for statement in chosen for line in lines_of(source, statement)]
    for where, using in project.scopes(finding.failed, finding.used, finding.freed):
        if using is scope or where.file != source.file:
            continue
        if "self" in {name.split(".")[0], *free} and where.class_of(using) is not source.class_of(scope):
            continue  # another class's `self`, or none
        sites = project.sites(where, using, finding.failed) if finding.failed else []
        for site in sites[-1:]:
            loops = where.loops(site)
            region = where.body(loops[0]) if loops else where.body(using)
            first = readers(region, {name})
            anchor = where.within(first[0], region) if first else where.within(site, region)
            if anchor is None:
                continue
            way = Way(title=f"Compute `{name}` again in every turn", safe=True, why=_WHY)
            way.patch.insert_before(where, anchor, lines)
            way.patch.insert_before(source, chosen[0], [f"self.{n} = {n}" for n in kept])
            if not _read_elsewhere(project, name, using, scope):
                for statement in starts[-1:]:
                    way.patch.delete(source, statement)
            yield way
    if name.startswith("self."):
        yield from _where_read(source, scope, name, chosen, lines, kept)


def slot_again(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """A container that one function fills, slot by slot, and another one's loop reads: the slot is filled again before it is read,
    as the statement that was seen to fill it does, with the key that is asked for."""
    base = base_of(name)
    for one in finding.facts.get("built_stack") or ():
        here = project.at(Place(one["file"], one["line"], one.get("function", "")))
        small = here[1].body[0] if here is not None and isinstance(here[1], cst.SimpleStatementLine) else None
        target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
        if here is None or not isinstance(small, cst.Assign) or not isinstance(target, cst.Subscript):
            continue
        source, scope = here[0], here[0].scope(here[1])
        if dotted(target.value) != base:
            continue
        key = source.code(target)[len(source.code(target.value)) + 1 : -1]
        own = {w for s in simple(source.body(scope)) for w in written(s)} | set(parameters_of(scope)) - {"self"}
        if isinstance(scope, cst.FunctionDef) and {n for n in names_read(small.value) if n in own} - {key}:
            continue
        for where, using in project.scopes(finding.failed, finding.used):
            if where.file != source.file or using is scope or where.class_of(using) is not source.class_of(scope):
                continue
            found = [r for s in simple(where.body(using)) for r in reads(s, f"{base}[...]") if where.loops(r)]
            # The key of a comprehension is not known before its statement.
            found = [r for r in found if not any(isinstance(n, cst.BaseComp | cst.Lambda) for n in where.up(r))]
            if not found:
                continue
            asked = where.code(found[0])[len(where.code(found[0].value)) + 1 : -1]  # type: ignore[attr-defined]
            line = f"{base}[{asked}] = {substituted(source.code(small.value), {key: asked})}"
            way, reader = (
                Way(title=f"Compute `{base}[{asked}]` again in every turn", why=_WHY),
                where.statement(found[0]),
            )
            if reader is not None:
                way.patch.insert_before(where, reader, [line])
                yield way


def can_keep(source: Source, scope: Scope, name: str, names: list[str]) -> bool:
    """Whether arguments of a method can be kept on the object: nothing else has these names, nobody changes them."""
    owner = source.class_of(scope)
    if owner is None or not name.startswith("self.") or not set(names) <= set(parameters_of(scope)):
        return False
    changed = {w for s in simple(source.body(scope)) for w in written(s)}
    used = {n.attr.value for n in walk(owner) if isinstance(n, cst.Attribute)} | {
        f.name.value for f in source.functions if source.class_of(f) is owner
    }
    return not set(names) & (changed | used)


def _where_read(
    source: Source, scope: Scope, name: str, chosen: list[cst.BaseStatement], lines: list[str], kept: list[str]
) -> Iterator[Way]:
    """An attribute that other methods of its class read: computed in each of them, before it is read."""
    methods = [f for f in source.functions if f is not scope and source.class_of(f) is source.class_of(scope)]
    way = Way(safe=True, why=_WHY)
    found = []
    for method in methods:
        body = source.body(method)
        first = readers(body, {name})
        anchor = source.within(first[0], body) if first else None
        if anchor is not None:
            way.patch.insert_before(source, anchor, lines)
            found.append(f"`{method.name.value}`")
    if found:
        way.title = f"Compute `{name}` in {' and '.join(found)}"
        way.patch.insert_before(source, chosen[0], [f"self.{n} = {n}" for n in kept])
        for statement in movable(source, chosen, source.body(scope), (0, len(source.text))):
            way.patch.delete(source, statement, comments=True)
        yield way


def _home(finding: Finding, project: Project, name: str) -> tuple[Source, Scope] | None:
    """The function that computes a name for others."""
    seen = project.at(finding.built)
    if seen is not None and "." in name and name in written(seen[1]):
        return seen[0], seen[0].scope(seen[1])
    for source in project.sources:
        scopes: list[Scope] = [*source.functions, source.module]
        for scope in scopes:
            if not ("." in name or isinstance(scope, cst.Module)):
                continue
            names = project.tracked(source, scope)
            for statement in simple(source.body(scope)):
                value = (
                    getattr(statement.body[0], "value", None)
                    if isinstance(statement, cst.SimpleStatementLine)
                    else None
                )
                if name in written(statement) and value is not None and not makes_leaf(project, source, statement):
                    if project.gives_history(value, names):
                        return source, scope
    return None


def known_as(source: Source, scope: Scope) -> dict[str, str]:
    """`self.raw = raw` says that others know `raw` as `self.raw`."""
    found = {}
    for statement in simple(source.body(scope)):
        small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        if isinstance(small, cst.Assign) and isinstance(small.value, cst.Name):
            for target in small.targets:
                if isinstance(target.target, cst.Attribute) and source.code(target.target).startswith("self."):
                    found[small.value.value] = source.code(target.target)
        elif isinstance(small, cst.Assign) and isinstance(small.value, cst.Tuple):
            for target in small.targets:
                if isinstance(target.target, cst.Tuple) and len(target.target.elements) == len(small.value.elements):
                    for t, v in zip(target.target.elements, small.value.elements, strict=True):
                        if isinstance(v.value, cst.Name) and source.code(t.value).startswith("self."):
                            found[v.value.value] = source.code(t.value)
    return found


def substituted(line: str, known: dict[str, str]) -> str:
    """Names replaced token by token; keywords (`x=`) and attributes (`.x`) are no names."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(line).readline))
    except (tokenize.TokenError, IndentationError):
        tokens = []
    out, last = "", 0
    for i, token in enumerate(tokens):
        before = tokens[i - 1].string if i else ""
        after = tokens[i + 1].string if i + 1 < len(tokens) else ""
        if (
            token.type == tokenize.NAME
            and token.string in known
            and before != "."
            and after != "="
            and token.start[0] == 1
        ):
            out += line[last : token.start[1]] + known[token.string]
            last = token.end[1]
    return out + line[last:]


def _read_elsewhere(project: Project, name: str, *scopes: Scope) -> bool:
    for source in project.sources:
        every: list[Scope] = [*source.functions, source.module]
        for scope in every:
            if not any(scope is s for s in scopes) and readers(source.body(scope), {name}, inner=False):
                return True
    return False


def into_the_callee(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """`train(encode(x), n)`: the parameter is computed again in every turn, from what both functions can see."""
    name = base_of(name)
    for source, scope in project.scopes(finding.failed, finding.used, finding.freed):
        if not isinstance(scope, cst.FunctionDef) or finding.failed is None:
            continue
        parameters = parameters_of(scope)
        if name not in parameters:
            continue
        for where, call in calls_of(project, scope):
            given = arguments(call, parameters)
            value = given.get(name)
            caller = where.scope(call)
            known = {n: p for p, v in given.items() if (n := dotted(v)) and p != name}
            if isinstance(value, cst.Name):
                defined = [v for s in simple(where.body(caller)) if (v := assigned_value(s, value.value)) is not None]
                value = defined[-1] if defined else None
            if value is None or where.file != source.file:
                continue
            local = (
                {w for s in simple(where.body(caller)) for w in written(s)}
                if isinstance(caller, cst.FunctionDef)
                else set()
            )
            free = {n for n in names_read(value) if "." not in n and "[" not in n}
            if free & (local - known.keys()):
                continue
            for site in project.sites(source, scope, finding.failed)[-1:]:
                loops = source.loops(site)
                region = source.body(loops[0]) if loops else []
                first = readers(region, {name})
                anchor = source.within(first[0], region) if first else None
                if anchor is not None:
                    way = Way(title=f"Compute `{name}` in every turn", why="it depends on parameters that change")
                    way.patch.insert_before(source, anchor, [f"{name} = {substituted(where.code(value), known)}"])
                    yield way
