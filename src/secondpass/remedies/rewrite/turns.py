# SPDX-License-Identifier: BSD-3-Clause
"""A loop whose every turn clears, passes and steps, over losses that belong together: each of it for all turns at once."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ...record import Finding
from ..edit.source import Source
from ..find.flow import method_call, names_read, written
from ..find.project import Project
from ..proposal import Way
from .arguments import backward_calls, pass_calls
from .moves import lines_of

__all__ = ["passes_first", "turns_apart"]

_VALUES = "the passes then see the values that their forwards were computed with"
_OWN = f"{_VALUES}, and each step its own gradients"
_GRADIENTS = "no turn then clears what the passes of others have put there"


def passes_first(finding: Finding, project: Project) -> Iterator[Way]:
    """A step in one turn changes what the pass of the next one needs."""
    if finding.failed is None or finding.freed is None:
        return
    for source, scope in project.scopes(finding.failed, finding.freed):
        for site in project.sites(source, scope, finding.failed)[-1:]:
            # A step that comes before the pass, in the same turn, has nothing to do with the turns of the loop.
            steps = [s for s in project.sites(source, scope, finding.freed) if source.order(s) > source.order(site)]
            if any(method_call(s, "step") for s in steps):
                yield from _split(source, site, _OWN, own=True)
                yield from _split(source, site, _VALUES)


def turns_apart(source: Source, clear: cst.BaseStatement) -> Iterator[Way]:
    """Each turn clears gradients of its own network, that the passes of others have added to."""
    loop = source.owner(clear)
    if isinstance(loop, cst.For) and written(loop) & names_read(clear):
        for site in [s for s in source.block(clear) if isinstance(s, cst.SimpleStatementLine) and pass_calls(s)][-1:]:
            yield from _split(source, site, _GRADIENTS)


def _split(source: Source, site: cst.BaseStatement, why: str, *, own: bool = False) -> Iterator[Way]:
    """:param own: each turn's pass goes to the parameters that its own optimizer steps, and to no others"""
    loop, body = source.owner(site), source.block(site)
    if not isinstance(loop, cst.For):
        return
    clears = [s for s in body if method_call(s, "zero_grad") and source.order(s) < source.order(site)]
    steps = [s for s in body if method_call(s, "step") and source.order(s) > source.order(site)]
    passes = [s for s in body if not any(s is o for o in [*clears, *steps])]
    made = set().union(*(written(s) for s in passes))
    if not steps or any(made & names_read(s) for s in steps):
        return  # what a step needs of its own turn would be gone
    way = Way(title="Make all passes before the first step", safe=False, why=why)
    single = all(written(loop).isdisjoint(names_read(s)) for s in steps)
    given = _only_to_own(source, site, steps) if own and not single else {}
    if own and not given:
        return
    if single:
        # One optimizer for all turns: it steps once, with the gradients of all of them.
        for statement in [*clears, *steps]:
            way.patch.delete(source, statement)
        for statement in clears:
            way.patch.insert_before(source, loop, lines_of(source, statement))
        for statement in steps:
            way.patch.insert_after(source, loop, lines_of(source, statement))
    else:
        way.patch.replace(source, source.lines_span(loop), _loops(source, loop, given, clears, passes, steps))
    yield way


def _only_to_own(source: Source, site: cst.BaseStatement, steps: list[cst.BaseStatement]) -> dict[str, str]:
    """The call of a pass, and the same with the parameters of the optimizer that steps behind it."""
    calls, call = backward_calls(site), method_call(steps[0], "step")
    if len(steps) != 1 or len(calls) != 1 or call is None or not isinstance(call.func, cst.Attribute):
        return {}
    if any(a.keyword is not None and a.keyword.value == "inputs" for a in calls[0].args):
        return {}
    own = f'inputs=[p for group in {source.code(call.func.value)}.param_groups for p in group["params"]]'
    text = source.code(calls[0])
    return {text: f"{text.removesuffix(')')}{', ' * bool(calls[0].args)}{own})"} if text.endswith(")") else {}


def _loops(source: Source, loop: cst.For, given: dict[str, str], *bodies: list[cst.BaseStatement]) -> str:
    """One loop for each of some bodies, under the same head. `given`: code to be written instead."""
    inner = source.indent(source.body(loop)[0])
    head = source.text[source.lines_span(loop).start : source.lines_span(source.body(loop)[0], comments=True).start]
    text = ""
    for body in filter(None, bodies):
        lines = [line for s in body for line in lines_of(source, s, comments=True)]
        for old, new in given.items():
            lines = [line.replace(old, new) for line in lines]
        text += head + "".join(f"{inner}{line}{source.newline}" if line else source.newline for line in lines)
    return text
