# SPDX-License-Identifier: BSD-3-Clause
"""One network's output goes through another network's pass and again through its own."""

from __future__ import annotations

from ..record import Finding, Owner
from ._finding import about_reuse, quoted, remedy
from ._reuse import Reuse

CODE = "SP106"
TITLE = "one network's output goes through another network's backward and again through its own"
REMEDIES = ("detach", "reorder", "recompute")
RANK = 80


def _owners(reuse: Reuse, leaves: set[int]) -> list[Owner]:
    return [o for o in reuse.trace.owners if leaves & set(o.leaves)]


def fits(reuse: Reuse) -> bool:
    """What both passes share belongs to one optimizer, while together they reach more than one."""
    if len(reuse.trace.owners) < 2 or reuse.freed is None:
        return False
    shared = _owners(reuse, reuse.leaves)
    reached = set(reuse.freed.walked or ()) | {n.number for n in reuse.walked.values() if n.leaf is not None}
    return len(shared) == 1 and len(_owners(reuse, reached)) > 1


def explain(reuse: Reuse) -> Finding:
    """Cut where the pass that does not train the shared network meets its output."""
    carrier = reuse.carrier()
    name = carrier.name if carrier else ""
    shown = quoted(name, "one network's output")
    freed = reuse.freed
    assert freed is not None
    # The pass whose own network is not the shared one has no business in the shared graph.
    first_reaches = _owners(reuse, set(freed.walked or ()))
    foreign_first = len(first_reaches) > 1
    where = freed if foreign_first else reuse.used
    message = (
        f"{shown} goes through two networks' passes: the backward at {freed.place} freed its history, "
        f"and the one at {reuse.used.place} needs it again."
    )
    remedies = [
        remedy(
            "detach",
            f"give {'the first' if foreign_first else 'the second'} loss {shown} without its history",
            "That pass trains another network; for it the values are data, and no gradient should flow back through them.",
            target=name,
            place=where.place,
        ),
        remedy(
            "recompute",
            f"compute {shown} again for the second pass",
            "Each network then gets a graph of its own, at the price of another forward.",
            target=name,
            place=reuse.entry.place,
        ),
    ]
    return about_reuse(CODE, "crossed-networks", reuse, message, carrier, remedies, foreign="freed" if foreign_first else "used")
