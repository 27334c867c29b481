# SPDX-License-Identifier: BSD-3-Clause
"""recompute: run the forward again where the pass is, by moving it there or by repeating it."""

from __future__ import annotations

from collections.abc import Iterator

from ..record import Finding, Remedy
from . import _again, _cached, _handed, _hoisted
from ._project import Project
from ._property import as_property
from ._ways import Way

__all__ = ["propose"]


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Every way to have a fresh graph for the pass, best first."""
    name = remedy.target or (finding.carrier.name if finding.carrier else "")
    if finding.cause == "stale-gradient":
        yield from _again.per_step(finding, project)
        return
    if finding.cause == "freed-access":
        yield from _again.for_access(finding, project)
        return
    if finding.cause in {"carried-state", "stored-history"}:
        yield from _cached.uncached(finding, name, project)
    two = finding.freed is not None and finding.failed is not None and finding.freed != finding.failed
    orders = (
        (_again.before_second_pass, _hoisted.into_the_turn)
        if two
        else (_hoisted.into_the_turn, _again.before_second_pass)
    )
    if finding.cause in {"hoisted-forward", "repeated-backward"}:
        orders = (_hoisted.into_the_turn, _again.before_second_pass)
    for ways in orders:
        yield from ways(finding, name, project)
    yield from _cached.uncached(finding, name, project)
    yield from _hoisted.across_functions(finding, name, project)
    yield from _handed.into_the_callee(finding, name, project)
    yield from as_property(name, project)
