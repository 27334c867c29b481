# SPDX-License-Identifier: BSD-3-Clause
"""An accumulator of losses keeps old graphs and is itself sent through again."""

from __future__ import annotations

from ..record import Finding
from ._finding import about_reuse, quoted, remedy, root_text
from ._reuse import Reuse

CODE = "SP105"
TITLE = "an accumulator of losses keeps old graphs and is sent through again"
REMEDIES = ("item", "combine-losses", "detach", "other")
RANK = 40


def fits(reuse: Reuse) -> bool:
    """The old loss is only added to the new one, and the first pass had gone through it."""
    if reuse.bound_all_along and not any(s.kind == "slot" for s in reuse.bound_all_along) and not reuse.recurs:
        return False  # one and the same term in both sums: built once, not piled up
    later = reuse.crossed is not None or reuse.recurs or reuse.rebound
    return later and bool(reuse.new) and reuse.linear_to_root and reuse.entry_was_loss


def explain(reuse: Reuse) -> Finding:
    """Either the accumulator is what goes through backward by mistake, or it should have started anew."""
    carrier = reuse.carrier("then")
    name = carrier.name if carrier else ""
    root = root_text(reuse.trace, reuse.used)
    shown = quoted(name, "the running sum")
    message = f"{shown} still holds the losses of earlier iterations, whose graphs are gone, and is sent through backward with the new one."
    own = remedy(
        "other",
        f"start {shown} anew after every backward",
        "What has been through backward must not go through again: its gradients are already counted.",
        target=name,
        place=reuse.entry.place,
    )
    number = remedy(
        "item",
        f"keep {shown} as a number and send only the new loss through backward",
        "An accumulator for reporting needs values, not history; `.item()` or `.detach()` gives them.",
        target=name,
        place=reuse.entry.place,
    )
    plain = root == name or (name and root == name.rpartition(".")[2])
    return about_reuse(CODE, "accumulated-loss", reuse, message, carrier, [own, number] if plain else [number, own], accumulator=name)
