# SPDX-License-Identifier: BSD-3-Clause
"""A tensor that a backward needs is changed in place."""

from __future__ import annotations

from ..record import Finding, Trace
from ._changed import Changed, about_change, changes
from ._finding import quoted, remedy

CODE = "SP202"
TITLE = "a tensor that a backward needs is changed in place"
REMEDIES = ("clone",)


def diagnose(trace: Trace) -> list[Finding]:
    """In-place errors whose tensor is no parameter."""
    return [_explain(c) for c in changes(trace) if not c.is_parameter]


def _explain(change: Changed) -> Finding:
    write = change.write
    name = write.target if write and write.target else change.failure.names[0] if change.failure.names else ""
    shown = quoted(name, "a tensor")
    how = f" by `{write.how}`" if write is not None and write.how else ""
    at = f" at {write.place}" if write is not None and write.place is not None else ""
    op = change.node.op if change.node is not None else "an earlier operation"
    message = f"{shown} is changed in place{how}{at}, but {op} had saved it and its backward needs the old values."
    remedies = [
        remedy(
            "clone",
            f"make a new tensor instead of changing {shown} in place",
            "The saved values then stay as they were; only the name moves on to the new tensor.",
            target=name,
            place=write.place if write else None,
        )
    ]
    return about_change(CODE, "inplace-change", change, message, remedies)
