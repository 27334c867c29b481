# SPDX-License-Identifier: BSD-3-Clause
"""Several losses share a forward and are sent through one by one."""

from __future__ import annotations

from ..record import Finding
from ._finding import about_reuse, quoted, remedy, root_text
from ._reuse import Reuse

CODE = "SP102"
TITLE = "several losses share one forward and go through backward one by one"
REMEDIES = ("combine-losses", "retain-graph")
RANK = 90


def fits(reuse: Reuse) -> bool:
    """What is left: two passes over one forward, in the same iteration."""
    return True


def explain(reuse: Reuse) -> Finding:
    """The first pass freed what the second one shares with it."""
    carrier = reuse.carrier()
    mine, other = root_text(reuse.trace, reuse.used), root_text(reuse.trace, reuse.freed)
    shared = quoted(carrier.name if carrier else None, "the part that both losses share")
    pair = f"`{other}` and `{mine}`" if mine and other and mine != other else "two losses"
    message = f"{shared} is shared by {pair}: the first backward freed it before the second one came."
    remedies = [
        remedy(
            "combine-losses",
            "send the losses through together: add them up, or pass both to torch.autograd.backward",
            "Gradients add up, so one pass over the sum gives the same result, and is faster than two.",
            target=mine,
            place=reuse.used.place,
        )
    ]
    if not reuse.steps_between:
        remedies.append(
            remedy(
                "retain-graph",
                "keep the graph in the first backward",
                "Right only if each loss's gradient is needed by itself; it keeps every buffer until the last pass.",
                target=other,
                place=reuse.freed.place if reuse.freed is not None else None,
            )
        )
    return about_reuse(CODE, "shared-forward", reuse, message, carrier, remedies)
