# SPDX-License-Identifier: BSD-3-Clause
"""Keep a graph that no later pass needs."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host
from ..program import line
from . import Change
from ._blocks import looked_at, where

CAUSE = "needless-retain"


def mutants(host: Host) -> Iterator[Change]:
    for call in host.backwards():
        if call.args or call.keywords:
            continue
        new = f"{line('failed')}{host.text(call.func)}(retain_graph=True)"
        yield Change(
            where(host, call),
            (host.replace(call, new),),
            error=("none",),
            remedy=("drop-retain",),
            named=False,
            placed=False,
            shows="same",
        )


def twins(host: Host) -> Iterator[Change]:
    """A later pass does need it."""
    for call in host.backwards():
        statement = host.own_statement(call)
        if statement is None or call.args or call.keywords:
            continue
        root = host.text(call.func.value)  # type: ignore[attr-defined]
        look = looked_at(host, statement, root)
        if look is not None:
            edits = (
                host.replace(call, f"{host.text(call.func)}(retain_graph=True)"),
                host.after(statement, look.replace(", retain_graph=True", "")),
            )
            yield Change(where(host, call), edits, shows="needed")
