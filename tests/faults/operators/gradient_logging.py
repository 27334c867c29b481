# SPDX-License-Identifier: BSD-3-Clause
"""Ask for gradients to log them, and then send the same loss through."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host
from ..program import line, tagged
from . import Change
from ._blocks import looked_at, where

CAUSE = "repeated-backward"


def mutants(host: Host) -> Iterator[Change]:
    for call in host.backwards():
        statement = host.own_statement(call)
        if statement is None or call.args or call.keywords:
            continue
        root = host.text(call.func.value)  # type: ignore[attr-defined]
        look = looked_at(host, statement, root)
        if look is not None and root.isidentifier():
            sent = f"{line('failed')}{tagged(root)}.backward()"
            edits = (host.before(statement, look.replace("retain_graph=True, ", "")), host.replace(call, sent))
            kept = (host.before(statement, look),)  # hooks of the program see this pass as well
            yield Change(
                where(host, call),
                edits,
                remedy=("retain-graph", "reorder", "recompute", "other"),
                carrier=(root,),
                references=(kept,),
            )


def twins(host: Host) -> Iterator[Change]:
    """The gradients that the pass has left are logged."""
    for call in host.backwards():
        statement = host.own_statement(call)
        look = None if statement is None or call.args or call.keywords else looked_at(host, statement, "_")
        if statement is not None and look is not None:
            owned = look.partition("torch.autograd.grad(_, ")[2].partition(", retain_graph")[0]
            read = f"steepness = sum(float(w.grad.norm()) for w in {owned} if w.grad is not None)"
            yield Change(where(host, call), (host.after(statement, read),))
