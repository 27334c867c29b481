# SPDX-License-Identifier: BSD-3-Clause
"""Saved tensors are read after they were freed."""

from __future__ import annotations

from ..record import Carrier, Failure, Finding, Pass, Trace
from ._finding import _place, pass_evidence, quoted, remedy

CODE = "SP108"
TITLE = "saved tensors are read after they were freed"
REMEDIES = ("reorder", "other")


def diagnose(trace: Trace) -> list[Finding]:
    """Accesses to spent nodes outside a pass, and buffers that a hook gave away once and is asked for again."""
    return [_explain(trace, f) for f in trace.failures if f.kind == "freed-access"]


def _explain(trace: Trace, failure: Failure) -> Finding:
    node = trace.nodes.get(failure.node) if failure.node is not None else None
    freed: Pass | None = None
    if node is not None:
        before = [p for p in trace.passes if p.frees and p.when < failure.when]
        known = [p for p in before if p.walked is not None and node.number in p.walked]
        can = [p for p in before if p.walked is None and (not p.roots or max(p.roots) >= node.number)]
        freed = (known or can or [None])[-1]  # type: ignore[list-item]
    name = failure.names[0] if failure.names else ""
    what = quoted(node.op if node is not None else None, "an operation")
    at = f" by the backward at {freed.place}" if freed is not None else " by an earlier backward"
    message = f"The saved tensors of {what} are read, but they were freed{at}."
    remedies = [
        remedy(
            "reorder",
            "read the saved tensors before that backward",
            "A backward frees what the forward saved; keeping the graph would not bring back values that a step has changed.",
            target=name,
            place=failure.place,
        )
    ]
    return Finding(
        code=CODE,
        cause="freed-access",
        severity="error",
        message=message,
        failed=failure.place,
        carrier=Carrier(name, "local") if name else None,
        built=node.place if node is not None else None,
        freed=freed.place if freed is not None else None,
        used=failure.place,
        evidence=tuple(pass_evidence(trace, failure.when, {freed.when: "freed"} if freed is not None else {})),
        remedies=tuple(remedies),
        sure=node is not None and freed is not None,
        facts={"used_stack": [_place(p) for p in failure.stack], "node": node.op if node is not None else ""},
    )
