# SPDX-License-Identifier: BSD-3-Clause
"""recompute: run the forward again where the pass is, by moving it there or by repeating it."""

from __future__ import annotations

from collections.abc import Iterator

from ..record import Finding, Remedy
from .find.project import Project
from .proposal import Way
from .rewrite import cached, hoisted, repeated
from .rewrite.property import as_property

__all__ = ["propose"]


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Every way to have a fresh graph for the pass, best first."""
    name = remedy.target or (finding.carrier.name if finding.carrier else "")
    if finding.cause == "repeated-backward" and _not_meant(finding):
        return
    if finding.cause == "step-between" and finding.severity == "warning":
        return  # nothing failed: all may be meant to move at once, each by the gradient at the old values
    if finding.cause == "stale-gradient":
        yield from repeated.per_step(finding, project)
        return
    if finding.cause == "freed-access":
        yield from repeated.for_access(finding, project)
        return
    if finding.cause in {"carried-state", "stored-history"}:
        yield from cached.uncached(finding, name, project)
    two = finding.freed is not None and finding.failed is not None and finding.freed != finding.failed
    orders = (
        (repeated.before_second_pass, hoisted.into_the_turn)
        if two
        else (hoisted.into_the_turn, repeated.before_second_pass)
    )
    if finding.cause in {"hoisted-forward", "repeated-backward"}:
        orders = (hoisted.into_the_turn, repeated.before_second_pass)
    yield from hoisted.with_its_loop(finding, name, project)
    for ways in orders:
        yield from ways(finding, name, project)
    yield from cached.uncached(finding, name, project)
    yield from hoisted.across_functions(finding, name, project)
    yield from hoisted.slot_again(finding, name, project)
    yield from hoisted.into_the_callee(finding, name, project)
    yield from as_property(name, project)
    if finding.cause == "stored-history":
        yield from cached.emptied_memo(finding, project)


def _not_meant(finding: Finding) -> bool:
    """Whether another forward is not what two calls over one loss are for: it would count the gradient twice, or give somebody
    who looks at the gradient of this loss, after the step, that of another one."""
    facts = finding.facts
    if facts.get("looping"):
        return False
    return bool(facts.get("asks")) if facts.get("moves") else bool(facts.get("adds"))
