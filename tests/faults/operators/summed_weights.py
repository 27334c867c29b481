# SPDX-License-Identifier: BSD-3-Clause
"""Let a sum of parameters go on from pass to pass: its nodes save nothing, so nothing fails and old terms count again."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line
from . import Change
from ._blocks import next_step, where
from ._grafts import Graft, grafts, name

CAUSE = "silent-reuse"


def _sum(host: Host, graft: Graft) -> str | None:
    """The mean of the parameters that are stepped, as people write it."""
    step = next_step(host, graft.statement)
    if step is None:
        return None
    optimizer = host.text(step).rpartition(".step(")[0]
    return f'sum(w.mean() for w in {optimizer}.param_groups[0]["params"])'


def _carried(host: Host, graft: Graft, drift: str, old: str, term: str) -> tuple[Edit, ...]:
    objective = name(host, graft, "objective", "whole", "final")
    rows = (
        f"{line('built')}{drift} = {old} + {term}",
        f"{objective} = {graft.loss} + 0.01 * {drift}",
        f"{line('failed')}{objective}.backward()",
    )
    return host.before(graft.loop, f"{drift} = torch.zeros(())"), host.replace(
        graft.statement, f"\n{graft.indent}".join(rows)
    )


def _once(host: Host, graft: Graft, drift: str, term: str, *, inside: bool) -> tuple[Edit, ...]:
    objective = name(host, graft, "objective", "whole", "final")
    made = f"{line('built')}{drift} = {term}"
    rows = [
        f"{objective} = {graft.loss} + 0.01 * {drift}.pow(2)",
        f"{line('failed')}{objective}.backward()",
    ]
    if inside:
        return (host.replace(graft.statement, f"\n{graft.indent}".join([made, *rows])),)
    return host.before(graft.loop, made), host.replace(graft.statement, f"\n{graft.indent}".join(rows))


def mutants(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        term, drift = _sum(host, graft), name(host, graft, "drift", "weight_mean", "offset", "level")
        if term is None:
            continue
        fields = {"error": ("none",), "placed": False, "carrier": (drift,), "shows": "reference"}
        edits, right = (_carried(host, graft, drift, old, term) for old in (drift, f"{drift}.detach()"))
        yield Change(where(host, graft.call, "-sum"), edits, remedy=("detach",), references=(right,), **fields)  # type: ignore[arg-type]
        edits, right = (_once(host, graft, drift, term, inside=inside) for inside in (False, True))
        yield Change(where(host, graft.call, "-once"), edits, remedy=("recompute",), references=(right,), **fields)  # type: ignore[arg-type]


def twins(host: Host) -> Iterator[Change]:
    """The sum goes on without its history; it is made anew."""
    for graft in grafts(host):
        term, drift = _sum(host, graft), name(host, graft, "drift", "weight_mean", "offset", "level")
        if term is not None:
            yield Change(where(host, graft.call, "-sum"), _carried(host, graft, drift, f"{drift}.detach()", term))
            yield Change(where(host, graft.call, "-once"), _once(host, graft, drift, term, inside=True))
