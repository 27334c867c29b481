# SPDX-License-Identifier: BSD-3-Clause
"""Gradients are wiped before the step used them."""

from __future__ import annotations

from ..record import Finding, Step, Trace
from ._finding import quoted, remedy
from ._silent import warning

CODE = "SP404"
TITLE = "gradients are wiped before the step uses them"
REMEDIES = ("reorder",)


def diagnose(trace: Trace) -> list[Finding]:
    """Optimizers all of whose steps found gradients that a pass had made gone again."""
    by_optimizer: dict[tuple[str, object], list[Step]] = {}
    for step in trace.steps:
        by_optimizer.setdefault((step.optimizer, step.leaves), []).append(step)
    return [_explain(trace, s) for s in by_optimizer.values() if len(s) > 1 and all(x.empty for x in s[1:])]


def _explain(trace: Trace, steps: list[Step]) -> Finding:
    wiped = next((z for z in trace.zero_grads if any(z.when == s.when for s in steps)), None)
    place = wiped.place if wiped is not None else steps[-1].place
    name = quoted(steps[-1].optimizer, "the optimizer")
    message = f"The gradients are cleared between the backward and the step, so the steps of {name} change nothing."
    remedies = [
        remedy(
            "reorder",
            "clear the gradients after the step, or before the backward",
            "A step can only apply gradients that are still there.",
            target=steps[-1].optimizer,
            place=place,
        )
    ]
    return warning(CODE, "misplaced-zero-grad", message, place, remedies, used=steps[-1].place,
                   evidence=[{"what": "note", "text": f"{sum(1 for s in steps if s.empty)} of {len(steps)} steps had no gradient to apply"}])  # fmt: skip
