# SPDX-License-Identifier: BSD-3-Clause
"""Errors that compiled regions raise in place of the ordinary ones: a region is one node with rules of its own."""

from __future__ import annotations

from ..record import Failure, Finding, Remedy, Trace
from ._finding import _place, pass_evidence, root_text

__all__ = ["about_region"]


def about_region(
    code: str, cause: str, trace: Trace, failure: Failure, message: str, remedies: list[Remedy], severity: str = "error"
) -> Finding:
    """A finding about a pass over a compiled region."""
    used = trace.at(failure.when)
    compiled = [n for n in trace.nodes.values() if n.op.startswith("CompiledFunction")]
    region = max(compiled, key=lambda n: n.number, default=None)
    return Finding(
        code,
        cause,
        severity,
        message,
        failed=failure.place,
        built=region.place if region is not None else None,
        used=failure.place,
        evidence=tuple(pass_evidence(trace, failure.when, {failure.when: "failed"})),
        remedies=tuple(remedies),
        facts={"root": root_text(trace, used), "used_stack": [_place(p) for p in failure.stack], "compiled": True},
    )
