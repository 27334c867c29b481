# SPDX-License-Identifier: BSD-3-Clause
"""What a program computes with gradients switched on and no pass walks.

NOTE [ A branch that no loss uses ]
Parameters that never get a gradient may be meant to (an option that is off). They are not when the program runs them, and
records what it computes: then somebody wanted to use it. That they ran shows in one of two ways.
1. A name that was there when a pass began led to one number (a loss) with these parameters behind it, and the pass did not
   walk there.
2. A statement that reads their module recorded nodes that none of the passes walked, and it, or another one after it, goes on
   with what the module made; or what it made in another turn of the same loop was used.
An output that is left lying as it comes (a value head while only the policy is trained) is no loss that was forgotten. What
a library's own module computes on the side (an unused pooler) is its business: see `Trace.libraries`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ...record import Binding, Loop, Owner, Place, Trace
from ...source import assigned, root_of
from .cut import Search
from .executed import Run, ran
from .lines import sources_of

__all__ = ["Unused", "behind", "since", "unused"]

_LAST = 200
"""How many statements, from the end, are asked: some iterations of most programs."""


@dataclass(frozen=True)
class Unused:
    """A branch that no pass walks."""

    name: str
    """What holds its end; "" where nothing did when the passes began."""
    built: Place | None
    root: Place | None
    """The statement in which the branch is missing."""


def unused(trace: Trace, module: str, leaves: set[int], owner: Owner) -> Unused | None:
    """Where the output of a module with these leaves of an optimizer ends."""
    runs = ran(replace(trace, executed=trace.window.executed)) if trace.window is not None else []
    first = since(trace, owner)
    held = [b for b in trace.bindings if b.single and leaves & set(b.leaves) and _is_late(trace, b.number, first)]
    if held and _is_option(trace, held):
        return None
    if held:
        last = max(held, key=lambda b: (b.when, b.number))
        at = next((b for b in reversed(held) if b.name == last.name and _recorded(runs, b.number)), last)
        end, name = _recorded(runs, at.number), last.name
        if end is None:
            built = trace.nodes[last.number].place if last.number in trace.nodes else None
            return Unused(name, built, _summed(trace, last.number, built, next(reversed(_passed(trace, owner)), None)))
    else:
        end, name = _last_of(trace, runs, module), ""
        if end is None:
            return _dropped(trace, leaves, first) if trace.window is None else None
    return Unused(name, end.place, _missing(trace, runs, owner, end))


def _is_option(trace: Trace, held: list[Binding]) -> bool:
    """Whether a line that did not run reads the branch: a loss that a setting adds is not one that was forgotten."""
    if trace.called is None or trace.window is not None:
        return False  # `called` is all that ran where no statement was watched by itself
    there = {(p.file, p.line) for p in trace.called}
    places = {p for b in held if b.number in trace.nodes and (p := trace.nodes[b.number].place) is not None}
    for file, tree in sources_of(trace):
        made = [tree.statement(p.line) for p in places if p.file == file]
        names = {b.name for b in held} | {ast.unparse(t) for s in made if s is not None for t in assigned(s)}
        for stmt in tree.statements:
            if hasattr(stmt, "body") or (file, stmt.lineno) in there:
                continue
            if any(isinstance(n, ast.expr) and ast.unparse(n) in names for n in ast.walk(stmt)):
                return True
    return False


def _recorded(runs: list[Run], number: int) -> Run | None:
    """The statement that recorded a node: the innermost one."""
    return next((r for r in reversed(runs) if r.began <= number < r.ended and number in _own(r)), None)


def _own(one: Run) -> set[int]:
    """The nodes that a statement recorded outside the functions that it called."""
    return set(range(one.began, one.ended)).difference(*(range(c.began, c.ended) for c in one.inner))


def _words(node: ast.AST) -> set[str]:
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def _last_of(trace: Trace, runs: list[Run], module: str) -> Run | None:
    """The last statement on the way from a module that recorded what no pass walked."""
    walked = {n for p in trace.passes for n in p.walked or ()}
    aside = [r for r in runs if not hasattr(r.node, "body") and any(n not in walked for n in _own(r))][-_LAST:]
    word = next((p for p in reversed(module.split(".")) if not p.isdigit()), "")
    search = Search(runs)
    for first in (r for r in reversed(aside) if word in _words(r.node)):
        for one in reversed(aside):
            value = getattr(one.node, "value", None)
            if one.position > first.position and value is not None and first in search.behind(value, one):
                return one
        if _goes_on(first.node, word):
            return first
    return None


def _goes_on(node: ast.AST, word: str) -> bool:
    """Whether a statement computes something with what it gets from calling a module: `cross_entropy(head(x), y)`."""
    for outer in ast.walk(node):
        given = (
            outer.args
            if isinstance(outer, ast.Call)
            else [outer.left, outer.right]
            if isinstance(outer, ast.BinOp)
            else []
        )
        called = (n.func for part in given for n in ast.walk(part) if isinstance(n, ast.Call))
        if any(isinstance(f, (ast.Name, ast.Attribute)) and ast.unparse(f).rpartition(".")[2] == word for f in called):
            return True
    return False


def _passed(trace: Trace, owner: Owner) -> list[Place]:
    """Where the passes are whose gradients an optimizer's steps use."""
    used = {w for s in trace.steps if s.leaves == owner.leaves for whens in s.used.values() for w in whens or ()}
    return [p.place for p in trace.passes if p.place is not None and p.when in used]


def since(trace: Trace, owner: Owner) -> int:
    """The moment from which on what is computed with an optimizer's parameters is meant for it: its first step, where another
    optimizer had trained something before."""
    first = owner.first or 0
    return first if any(s.when < first and s.leaves != owner.leaves for s in trace.steps) else -1


def _is_late(trace: Trace, number: int, first: int) -> bool:
    """Whether a node was made at a moment or later, as far as that is known."""
    when = trace.nodes[number].when if number in trace.nodes else None
    return when is None or when >= first


def _dropped(trace: Trace, leaves: set[int], first: int) -> Unused | None:
    """A statement of a loop of which one turn is used and others are not: `for block in blocks: h = block(x)`."""
    walked = {n for p in trace.passes for n in p.walked or ()}
    used: dict[object, Loop] = {}
    for node in filter(None, map(trace.nodes.get, walked)):
        if node.loops:
            used[node.stack, node.when, node.loops[1:]] = node.loops[0]
    for node in trace.nodes.values():
        if not node.loops or node.number in walked or not _is_late(trace, node.number, first):
            continue
        loop, other = node.loops[0], used.get((node.stack, node.when, node.loops[1:]))
        if other is None or other == loop or not leaves & behind(trace, node.number):
            continue
        inside = [p for p in node.stack if p.file == loop.file and p.line >= loop.line]
        place = min(inside, key=lambda p: p.line, default=node.place)
        return Unused("", place, place)
    return None


def behind(trace: Trace, number: int) -> set[int]:
    """What lies behind a node, leaves among it."""
    found, todo = set[int](), [number]
    while todo:
        here = todo.pop()
        if here not in found and here in trace.nodes:
            found.add(here)
            todo.extend(trace.nodes[here].parents or ())
    return found


def _summed(trace: Trace, number: int, built: Place | None, passed: Place | None) -> Place | None:
    """The statement in which a branch is missing, where no statements were watched: the last one behind the branch, in its
    function, that makes what the pass walks; else the pass, if that is in the function too; else the end of the branch."""
    if built is None:
        return passed
    walked = {n for p in trace.passes[-1:] for n in p.walked or () if n > number}
    after = [n for n in walked if (p := trace.nodes[n].place) is not None and _scope(p) == _scope(built)]
    if after:
        return trace.nodes[max(after)].place
    return passed if passed is not None and _scope(passed) == _scope(built) else built


def _scope(place: Place) -> tuple[str, str]:
    return place.file, place.function


def _missing(trace: Trace, runs: list[Run], owner: Owner, end: Run) -> Place | None:
    """The statement that makes the loss without the branch: the first one behind the branch's end, in its function or in
    those that called it, that the loss comes from; at the latest the pass."""
    passes = _passed(trace, owner)
    for one in runs:
        root = root_of(one.node) if one.position > end.position and one.place in passes else None
        if root is None:
            continue
        made = {id(r) for r in Search(runs).behind(root, one)}
        at: Run | None = end
        while at is not None:
            body = at.call.body
            found = [r for r in body[body.index(at) + 1 :] if id(r) in made and r.position < one.position]
            if found:
                return next((r for r in found if _only_passes_on(r.node)), found[0]).place
            at = at.call.caller
        return one.place
    return passes[-1] if passes else None


def _only_passes_on(node: ast.stmt) -> bool:
    """Whether a statement hands one value on (`return loss`, `total = 0.5 * first`): something to add was there, or should be."""
    value = getattr(node, "value", None)
    names = [n for n in ast.walk(value) if isinstance(n, ast.Name)] if value is not None else []
    return len(names) == 1 and not any(isinstance(n, (ast.Call, ast.Tuple)) for n in ast.walk(node))
