# SPDX-License-Identifier: BSD-3-Clause
"""A gradient is differentiated again but was computed without `create_graph`."""

from __future__ import annotations

from ..record import Finding
from ._finding import about_reuse, quoted, remedy
from ._flow import flows_into
from ._reuse import Reuse

CODE = "SP109"
TITLE = "a gradient is differentiated again but was computed without create_graph"
REMEDIES = ("create-graph",)
RANK = 10


def fits(reuse: Reuse) -> bool:
    """The first pass took a gradient that then became part of the second one's loss."""
    freed = reuse.freed
    if freed is None or freed.kind != "grad" or freed.create:
        return False
    return flows_into(reuse.trace, freed, reuse.used)


def explain(reuse: Reuse) -> Finding:
    """Without its own graph the gradient is a constant."""
    carrier = reuse.carrier()
    shown = quoted(carrier.name if carrier else None, "the forward")
    message = f"The gradient of {shown} is part of the loss, but it was taken without create_graph: that freed the graph, and left the gradient a constant."
    remedies = [
        remedy(
            "create-graph",
            "take that gradient with create_graph=True",
            "A loss that contains a gradient must be differentiated through it; create_graph records how it was computed.",
            safe=True,
            place=reuse.freed.place if reuse.freed is not None else None,
        )
    ]
    return about_reuse(CODE, "missing-create-graph", reuse, message, carrier, remedies)
