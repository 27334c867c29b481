# SPDX-License-Identifier: BSD-3-Clause
"""Train on outputs of earlier iterations that were stored with their history."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line, tagged
from . import Change
from ._blocks import where
from ._grafts import Graft, grafts, name

CAUSE = "stored-history"


def _added(host: Host, graft: Graft, kept: str) -> tuple[str, tuple[Edit, ...]]:
    store = name(host, graft, "memory", "replay", "bank", "past")
    objective = name(host, graft, "objective", "whole", "final")
    start, put, use = {
        "list": (f"{store} = []", f"{store}.append({kept})", f"{tagged(f'{store}[len({store}) // 2]')}.mean()"),
        "dict": (
            f"{store} = {{}}",
            f"{store}[len({store})] = {kept}",
            f"{tagged(f'{store}[len({store}) // 2]')}.mean()",
        ),
        "records": (f"{store} = []", f'{store}.append({{"out": {kept}}})', f'{tagged(f"{store}[0]")}["out"].mean()'),
        "all": (
            f"{store} = []",
            f"{store}.append({kept})",
            f"sum(one.mean() for one in {tagged(store)}) / len({store})",
        ),
    }[graft.pick("list", "dict", "records", "all")]
    rows = [
        f"{objective} = {graft.loss}",
        f"if len({store}) > 1:",
        f"    {objective} = {objective} + 0.05 * ({graft.value}.mean() - {use}).pow(2)",
        f"{line('failed')}{objective}.backward()",
        put,
    ]
    return store, (host.before(graft.loop, start), host.replace(graft.statement, f"\n{graft.indent}".join(rows)))


def mutants(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        store, edits = _added(host, graft, graft.value)
        _, right = _added(host, graft, f"{graft.value}.detach()")
        yield Change(where(host, graft.call), edits, remedy=("detach",), carrier=(store,), references=(right,))


def twins(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        yield Change(where(host, graft.call), _added(host, graft, f"{graft.value}.detach()")[1])
