# SPDX-License-Identifier: BSD-3-Clause
"""Train a small second player on the output of the first, with its history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..host import Host
from ..program import Edit, line, tagged
from . import Change
from ._blocks import next_step, where
from ._grafts import Graft, grafts, name

CAUSE = "crossed-networks"


def _added(host: Host, graft: Graft, seen: str) -> tuple[Edit, ...] | None:
    if next_step(host, graft.statement) is None:
        return None
    probe, mover = (
        name(host, graft, "probe", "judge", "scale", "critic_weight"),
        name(host, graft, "mover", "second_opt", "probe_opt"),
    )
    start = f"{probe} = torch.nn.Parameter(torch.full((1,), 0.5))\n{mover} = torch.optim.SGD([{probe}], lr=0.05)"
    rows = [
        f"guess = ({seen} * {probe}).tanh().mean()",
        f"{mover}.zero_grad()",
        "(guess - 0.3).pow(2).backward()",
        f"{mover}.step()",
        f"{line('failed')}{graft.loss}.backward()",
    ]
    return host.before(graft.loop, start), host.replace(graft.statement, f"\n{graft.indent}".join(rows))


def mutants(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        wrong, right = _added(host, graft, tagged(graft.value)), _added(host, graft, f"{graft.value}.detach()")
        if wrong is not None and right is not None:
            yield Change(
                where(host, graft.call),
                wrong,
                remedy=("detach", "inputs", "recompute"),
                carrier=(graft.value,),
                references=(right,),
            )


def holds(seen: dict[str, Any]) -> bool:
    return bool(seen["players"])


def twins(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        right = _added(host, graft, f"{graft.value}.detach()")
        if right is not None:
            yield Change(where(host, graft.call), right)
