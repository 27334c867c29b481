# SPDX-License-Identifier: BSD-3-Clause
"""Compute a penalty on the parameters once, before the loop, and add it in every iteration."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line, tagged
from . import Change
from ._blocks import next_step, where
from ._grafts import Graft, grafts, name

CAUSE = "hoisted-forward"


def _added(host: Host, graft: Graft, hoisted: bool) -> tuple[str, tuple[Edit, ...]] | None:
    step = next_step(host, graft.statement)
    if step is None:
        return None
    penalty = name(host, graft, "penalty", "ridge", "shrinkage", "decay_term")
    owner = host.text(step).rpartition(".step(")[0]
    power = graft.pick("p.pow(2).sum()", "(p * p).mean()", "p.norm()")
    made = f"{penalty} = {tagged(f'sum({power} for g in {owner}.param_groups for p in g[{chr(39)}params{chr(39)}])')}"
    sent = f"{line('failed')}({graft.loss} + 1e-3 * {penalty}).backward()"
    if hoisted:
        return penalty, (host.before(graft.loop, made), host.replace(graft.statement, sent))
    return penalty, (host.replace(graft.statement, f"{made}\n{graft.indent}{sent}"),)


def mutants(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        wrong, right = _added(host, graft, hoisted=True), _added(host, graft, hoisted=False)
        if wrong is not None and right is not None:
            yield Change(
                where(host, graft.call), wrong[1], remedy=("recompute",), carrier=(wrong[0],), references=(right[1],)
            )


def twins(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        right = _added(host, graft, hoisted=False)
        if right is not None:
            yield Change(where(host, graft.call), right[1])
