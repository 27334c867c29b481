# SPDX-License-Identifier: BSD-3-Clause
"""Send a second loss over the same output through by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..host import Host
from ..program import line
from . import Change
from ._blocks import where
from ._grafts import grafts, name

CAUSE = "shared-forward"


def mutants(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        second = name(host, graft, "extra", "auxiliary", "spread", "smoothness")
        make = f"{second} = 0.01 * {graft.value}.pow(2).mean()"
        first, last = f"{graft.loss}.backward()", f"{line('failed')}{second}.backward()"
        order = graft.pick("before", "after")
        rows = [make, first, last] if order == "before" else [first, make, last]
        right = f"{make}\n{graft.indent}({graft.loss} + {second}).backward()"
        yield Change(
            where(host, graft.call),
            (host.replace(graft.statement, f"\n{graft.indent}".join(rows)),),
            remedy=("combine-losses",),
            carrier=(graft.value,),
            references=((host.replace(graft.statement, right),),),
        )


def holds(seen: dict[str, Any]) -> bool:
    return not seen["steps_between"]


def twins(host: Host) -> Iterator[Change]:
    """One pass over both, and a second loss over something that is detached."""
    for graft in grafts(host):
        second = name(host, graft, "extra", "auxiliary", "spread", "smoothness")
        make = f"{second} = 0.01 * {graft.value}.pow(2).mean()"
        yield Change(
            where(host, graft.call),
            (
                host.replace(
                    graft.statement, f"{make}\n{graft.indent}torch.autograd.backward([{graft.loss}, {second}])"
                ),
            ),
        )
