# SPDX-License-Identifier: BSD-3-Clause
"""What one program shows against what is said of another: of a line that several programs run, something is never needed or
never reached only if it is so in all of them."""

from __future__ import annotations

from collections.abc import Collection

from ...causes.needless_retain import needed
from ...causes.unreached_parameter import reached_by
from ...record import Finding, Trace

__all__ = ["Denial", "denials", "stands"]

Denial = tuple[str, str, int, str]
"""(code, file, line, name): a line that keeps its graph and must; an optimizer's line, and a parameter that got a gradient."""


def denials(trace: Trace) -> set[Denial]:
    """What was seen in one reading."""
    found = {("SP402", p.file, p.line, "") for p in needed(trace)}
    found.update(
        ("SP406", owner.place.file, owner.place.line, name)
        for owner in trace.owners
        if owner.place is not None and owner.steps
        for name in reached_by(trace, owner)
    )
    return found


def stands(finding: Finding, denied: Collection[Denial]) -> bool:
    """Whether no program speaks against a finding."""
    made = finding.facts.get("owner") or {}
    claim = f"{finding.remedies[0].target}." if finding.remedies and finding.remedies[0].target else ""
    for code, file, line, name in denied:
        if code != finding.code:
            continue
        if (
            code == "SP402"
            and finding.failed is not None
            and (file, line) == (finding.failed.file, finding.failed.line)
        ):
            return False
        if code == "SP406" and (file, line) == (made.get("file"), made.get("line")) and f"{name}.".startswith(claim):
            return False
    return True
