# SPDX-License-Identifier: BSD-3-Clause
"""Compare every output with the one of the iteration before, which keeps its history."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line, tagged
from . import Change
from ._blocks import where
from ._grafts import Graft, grafts, name

CAUSE = "carried-state"


def _added(host: Host, graft: Graft, kept: str) -> tuple[str, tuple[Edit, ...]]:
    before = name(host, graft, "previous", "last_out", "old", "prior")
    objective = name(host, graft, "objective", "whole", "final")
    rows = [
        f"{objective} = {graft.loss}",
        f"if {before} is not None:",
        f"    {objective} = {objective} + 0.05 * ({graft.value}.mean() - {tagged(before)}.mean()).pow(2)",
        f"{line('failed')}{objective}.backward()",
        f"{before} = {kept}",
    ]
    edit = host.replace(graft.statement, f"\n{graft.indent}".join(rows))
    return before, (host.before(graft.loop, f"{before} = None"), edit)


def mutants(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        before, edits = _added(host, graft, graft.value)
        _, right = _added(host, graft, f"{graft.value}.detach()")
        yield Change(where(host, graft.call), edits, remedy=("detach",), carrier=(before,), references=(right,))


def twins(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        yield Change(where(host, graft.call), _added(host, graft, f"{graft.value}.detach()")[1])
