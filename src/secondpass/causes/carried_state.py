# SPDX-License-Identifier: BSD-3-Clause
"""A tensor with history is carried from one iteration to the next."""

from __future__ import annotations

from ..record import Finding
from ._finding import about_reuse, iterations, quoted, remedy
from ._reuse import Reuse

CODE = "SP103"
TITLE = "a tensor with history is carried from one iteration to the next"
REMEDIES = ("detach",)
RANK = 60


def fits(reuse: Reuse) -> bool:
    """The entry was built by an earlier iteration (or call) of the code that uses it."""
    if reuse.recurs or reuse.crossed is not None:
        return True
    if reuse.outside is not None or reuse.freed is None:
        return False
    if reuse.recalled:
        return bool(reuse.fresh) and (reuse.built_in_call or (reuse.rebound and not reuse.bound_all_along))
    return reuse.rebound and not reuse.bound_now


def explain(reuse: Reuse) -> Finding:
    """The values should go on, the history should not."""
    carrier = reuse.carrier()
    name = carrier.name if carrier else ""
    shown = quoted(name, "a tensor")
    when = iterations(reuse)
    if "built_iteration" in when and "used_iteration" in when:
        span = f"the history of iteration {when['built_iteration']} into iteration {when['used_iteration']}"
    else:
        span = "the history of one iteration into the next"
    message = f"{shown} carries {span}, and a backward had already freed it."
    remedies = [
        remedy(
            "detach",
            f"detach {shown} where it goes from one iteration to the next",
            "The next iteration needs its values, not its history: that part has been through backward.",
            safe=True,
            target=name,
            place=reuse.entry.place,
        )
    ]
    return about_reuse(CODE, "carried-state", reuse, message, carrier, remedies)
