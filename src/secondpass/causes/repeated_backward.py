# SPDX-License-Identifier: BSD-3-Clause
"""The same loss is sent through a pass twice, with no new forward between."""

from __future__ import annotations

from ..record import Finding
from ._finding import about_reuse, quoted, remedy, root_text
from ._reuse import Reuse

CODE = "SP101"
TITLE = "the same loss goes through backward twice"
REMEDIES = ("recompute", "other")
RANK = 20


def fits(reuse: Reuse) -> bool:
    """The same root, or nothing but sums and scalings of it that are new."""
    if reuse.same_root:
        return True
    if reuse.fresh or reuse.recurs or not reuse.entry_was_loss or reuse.freed is None:
        return False
    roots = set(reuse.freed.roots or ())
    return all(e.number in roots for e in reuse.entries)


def explain(reuse: Reuse) -> Finding:
    """In a loop the forward is missing from it; otherwise one of the two passes is one too many."""
    name = root_text(reuse.trace, reuse.used)
    shown = quoted(name, "the same loss")
    carrier = reuse.carrier()
    looping = reuse.outside is not None or reuse.same_site
    if looping:
        message = f"{shown} is sent through backward again, but no forward pass has computed it anew since the last time."
        remedies = [
            remedy(
                "recompute",
                f"compute {shown} again before every backward",
                "Each backward needs a forward of its own: the parameters have changed, and so must the loss.",
                target=name,
                place=reuse.entry.place,
            )
        ]
    else:
        message = f"{shown} goes through backward a second time: an earlier call has done it already."
        remedies = [
            remedy(
                "other",
                "remove one of the two backward calls",
                "The gradients are there after the first pass; a second one over the same loss would count them twice.",
                target=name,
                place=reuse.used.place,
            ),
            remedy("recompute", f"compute {shown} again before the second backward",
                   "A second pass needs a forward of its own.", target=name, place=reuse.entry.place),
        ]  # fmt: skip
    return about_reuse(CODE, "repeated-backward", reuse, message, carrier, remedies, looping=looping)
