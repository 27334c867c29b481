# SPDX-License-Identifier: BSD-3-Clause
"""Parameters are updated between a forward and a pass that still needs the old values."""

from __future__ import annotations

from ..record import Finding, Trace
from ._changed import Changed, about_change, changes
from ._finding import quoted, remedy, root_text

CODE = "SP201"
TITLE = "parameters are updated between a forward and a backward that still needs them"
REMEDIES = ("reorder", "recompute")


def diagnose(trace: Trace) -> list[Finding]:
    """In-place errors whose tensor is a parameter."""
    return [_explain(c) for c in changes(trace) if c.is_parameter]


def _explain(change: Changed) -> Finding:
    trace, write = change.trace, change.write
    root = root_text(trace, change.used)
    shown = quoted(write.target if write else None, "a parameter")
    by = f"{quoted(change.step.optimizer, 'an optimizer')}.step()" if change.step is not None else "an in-place change"
    at = f" at {write.place}" if write is not None and write.place is not None else ""
    message = f"{by}{at} changed {shown} after the forward of {quoted(root, 'this loss')}, whose backward still needs the old values."
    reorder = remedy(
        "reorder",
        "make all backward passes before the parameters change",
        "A backward belongs to the values that its forward used; change them after the last backward that needs them.",
        target=write.target if write else "",
        place=write.place if write else None,
    )
    recompute = remedy(
        "recompute",
        f"compute {quoted(root, 'the loss')} again after the change",
        "The new forward uses the new parameters, so that its backward fits them.",
        target=root,
        place=change.used.place if change.used else None,
    )
    first = [recompute, reorder] if change.other_network else [reorder, recompute]
    return about_change(CODE, "step-between", change, message, first)
