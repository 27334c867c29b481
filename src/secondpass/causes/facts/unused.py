# SPDX-License-Identifier: BSD-3-Clause
"""What a program computes with gradients switched on and no pass walks.

NOTE [ A branch that no loss uses ]
Parameters that never get a gradient may be meant to (an option that is off). They are not when the program runs them, and
records what it computes: then somebody wanted to use it. That they ran shows in one of two ways.
1. A name that was there when a pass began led to a graph with these parameters in it, and the pass did not walk there.
2. A statement that reads their module recorded nodes that none of the passes walked.
What a library's own module computes on the side (an unused pooler) is its business: see `Trace.libraries`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from ...record import Owner, Place, Trace
from ...source import root_of
from .cut import Search
from .executed import Run, ran

__all__ = ["Unused", "unused"]

_CHAIN = 20


@dataclass(frozen=True)
class Unused:
    """A branch that no pass walks."""

    name: str
    """What holds its end; "" where nothing did when the passes began."""
    built: Place | None
    root: Place | None
    """The statement that made the loss, where the branch is missing."""


def unused(trace: Trace, module: str, leaves: set[int], owner: Owner) -> Unused | None:
    """Where the output of a module with these leaves of an optimizer ends."""
    runs = ran(replace(trace, executed=trace.window.executed)) if trace.window is not None else []
    walked = {n for p in trace.passes for n in p.walked or ()}
    held = [b for b in trace.bindings if leaves & set(b.leaves)]
    if held:
        last = max(held, key=lambda b: (b.when, b.number))
        at = next((b for b in reversed(held) if b.name == last.name and _recorded(runs, b.number)), last)
        one = _recorded(runs, at.number)
        return Unused(last.name, one.place if one is not None else None, _root(trace, runs, owner))
    word = next((p for p in reversed(module.split(".")) if not p.isdigit()), "")
    for one in reversed(runs):
        if not hasattr(one.node, "body") and word in _words(one.node) and any(n not in walked for n in _own(one)):
            return Unused("", one.place, _root(trace, runs, owner))
    return None


def _recorded(runs: list[Run], number: int) -> Run | None:
    """The statement that recorded a node: the innermost one."""
    return next((r for r in reversed(runs) if r.began <= number < r.ended and number in _own(r)), None)


def _own(one: Run) -> set[int]:
    """The nodes that a statement recorded outside the functions that it called."""
    return set(range(one.began, one.ended)).difference(*(range(c.began, c.ended) for c in one.inner))


def _words(node: ast.AST) -> set[str]:
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return found | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def _root(trace: Trace, runs: list[Run], owner: Owner) -> Place | None:
    """The statement that made the loss of the last pass (in the window) whose gradients the optimizer's steps use."""
    used = {w for s in trace.steps if s.leaves == owner.leaves for whens in s.used.values() for w in whens or ()}
    passes = [p for p in trace.passes if p.place is not None and p.when in used]
    for one in reversed(runs):
        root = root_of(one.node) if any(p.place == one.place for p in passes) else None
        if root is not None:
            return (_made(Search(runs), root, one) or one).place
    return passes[-1].place if passes else None


def _made(search: Search, value: ast.expr, at: Run) -> Run | None:
    """The statement that made a value: through calls to what they return, and through other names as long as these were
    only passed on."""
    found: Run | None = None
    for _ in range(_CHAIN):
        source = search.source(value, at)
        if source is None:
            return found
        one, value = source
        if found is not None and one.built_itself and not isinstance(one.node, ast.Return):
            return found  # here a part was computed; where parts should have come together is nearer to the pass
        found, at = one, one
        if one.built_itself:
            return found
    return found
