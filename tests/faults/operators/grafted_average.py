# SPDX-License-Identifier: BSD-3-Clause
"""Put a moving average into the objective and let it keep its history."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line, tagged
from . import Change
from ._blocks import where
from ._grafts import Graft, grafts, name

CAUSE = "carried-state"


def mutants(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        average, objective = (
            name(host, graft, "smooth", "mean_value", "baseline", "ema"),
            name(host, graft, "objective", "whole", "final"),
        )
        old = tagged(average)
        rows = graft.pick(
            f"{average} = 0.9 * {old} + 0.1 * {graft.value}.pow(2).mean()",
            f"{average} = {old} * 0.8 + {graft.value}.abs().mean() * 0.2",
            f"{average} = torch.lerp({old}, {graft.value}.pow(2).mean(), 0.1)",
        )
        yield Change(
            where(host, graft.call),
            _added(host, graft, average, objective, rows),
            remedy=("detach",),
            carrier=(average,),
            references=(_added(host, graft, average, objective, rows.replace(old, f"{average}.detach()")),),
        )


def _added(host: Host, graft: Graft, average: str, objective: str, row: str) -> tuple[Edit, ...]:
    use = f"{objective} = {graft.loss} + 0.01 * ({average} - 1.0).pow(2)"
    new = f"{row}\n{graft.indent}{use}\n{graft.indent}{line('failed')}{objective}.backward()"
    return host.before(graft.loop, f"{average} = torch.ones(())"), host.replace(graft.statement, new)


def twins(host: Host) -> Iterator[Change]:
    """The average goes on without its history."""
    for graft in grafts(host):
        average, objective = (
            name(host, graft, "smooth", "mean_value", "baseline", "ema"),
            name(host, graft, "objective", "whole", "final"),
        )
        row = f"{average} = 0.9 * {average}.detach() + 0.1 * {graft.value}.pow(2).mean()"
        yield Change(where(host, graft.call), _added(host, graft, average, objective, row))
