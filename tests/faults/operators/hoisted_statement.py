# SPDX-License-Identifier: BSD-3-Clause
"""Move a forward that every iteration needs in front of the loop."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host
from ..program import Edit, tagged
from . import Change
from ._blocks import constant_in, sites_in_loops, the_loss_itself, where
from ._detaches import bound

CAUSE = "hoisted-forward"


def mutants(host: Host) -> Iterator[Change]:
    for statement, loop in sites_in_loops(host):
        if not constant_in(host, statement, loop):
            continue
        edits = tuple(_tagged(host, e, statement) for e in host.moved([statement], loop))
        names = bound(statement)
        yield Change(
            where(host, statement), edits, remedy=("recompute",), carrier=names, also=the_loss_itself(host, names)
        )
        yield Change(
            where(host, statement, "-silent"),
            edits,
            cause="silent-reuse",
            error=("none",),
            remedy=("recompute",),
            carrier=names,
            placed=False,
        )


def _tagged(host: Host, edit: Edit, statement: object) -> Edit:
    value = host.text(statement.value)  # type: ignore[attr-defined]
    if value not in edit.new:
        return edit
    head, _, tail = edit.new.rpartition(value)
    return Edit(edit.file, edit.start, edit.end, f"{head}{tagged(value)}{tail}")


def twins(host: Host) -> Iterator[Change]:
    """A value made once, for comparison only, without history."""
    for statement, loop in sites_in_loops(host):
        if constant_in(host, statement, loop):
            before = f"with torch.no_grad():\n    reference_value = {host.text(statement.value)}"
            yield Change(where(host, statement), (host.before(loop, before),))
