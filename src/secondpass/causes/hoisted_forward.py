# SPDX-License-Identifier: BSD-3-Clause
"""Part of the graph is built once, outside the loop or closure, and used in every iteration."""

from __future__ import annotations

from ..record import Finding
from ._finding import about_reuse, quoted, remedy
from ._reuse import Reuse

CODE = "SP104"
TITLE = "part of the graph is built once, outside the loop, and used in every iteration"
REMEDIES = ("recompute", "detach")
RANK = 70


def fits(reuse: Reuse) -> bool:
    """Built outside what is repeated, with new work in every repetition and parameters that move."""
    if not reuse.fresh or reuse.updated is False:
        return False
    if reuse.outside is not None:
        return True
    return reuse.recalled and not reuse.built_in_call


def explain(reuse: Reuse) -> Finding:
    """It depends on parameters, so it must be computed where they change."""
    carrier = reuse.carrier()
    name = carrier.name if carrier else ""
    shown = quoted(name, "part of the graph")
    where = "the loop" if reuse.outside is not None else f"`{reuse.used.place.function}`" if reuse.used.place else "the loop"
    message = f"{shown} is computed once, outside {where}; the first backward freed its graph, and the next one needs it again."
    remedies = [
        remedy(
            "recompute",
            f"compute {shown} inside {where}",
            "It depends on parameters that change with every step, so it has to be computed again each time.",
            target=name,
            place=reuse.entry.place,
        ),
        remedy(
            "detach",
            f"detach {shown} where it is made",
            "Right only if it is meant as a constant: what it was computed from is then no longer trained through it.",
            target=name,
            place=reuse.entry.place,
        ),
    ]
    return about_reuse(CODE, "hoisted-forward", reuse, message, carrier, remedies)
