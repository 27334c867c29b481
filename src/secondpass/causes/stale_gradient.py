# SPDX-License-Identifier: BSD-3-Clause
"""An old gradient is applied again after the parameters have moved."""

from __future__ import annotations

from ..record import Finding, Step, Trace
from ._finding import quoted, remedy
from ._silent import warning

CODE = "SP405"
TITLE = "an old gradient is applied again after the parameters moved"
REMEDIES = ("recompute", "other")


def diagnose(trace: Trace) -> list[Finding]:
    """Steps that applied what an earlier step of the same optimizer had applied, with no pass between."""
    places: dict[object, list[Step]] = {}
    for step in trace.steps:
        if step.stale and not step.inside:
            places.setdefault((step.optimizer, step.place), []).append(step)
    return [_explain(trace, steps) for steps in places.values() if len(steps) > 1 or trace.ended]


def _explain(trace: Trace, steps: list[Step]) -> Finding:
    step = steps[0]
    name = quoted(step.optimizer, "the optimizer")
    before = [p for p in trace.passes if p.when < step.when]
    message = f"{name} steps again on the same gradient, although its parameters moved with the step before."
    remedies = [
        remedy(
            "recompute",
            "compute the loss and its gradient again before every step",
            "A gradient belongs to the parameters it was computed at; after a step it is out of date.",
            target=step.optimizer,
            place=step.place,
        )
    ]
    return warning(CODE, "stale-gradient", message, step.place, remedies, freed=before[-1].place if before else None,
                   evidence=[{"what": "note", "text": f"{len(steps)} steps without a pass since the step before"}])  # fmt: skip
