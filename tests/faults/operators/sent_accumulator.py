# SPDX-License-Identifier: BSD-3-Clause
"""Send a running sum of losses through instead of the loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import line, tagged
from . import Change
from ._blocks import fresh, training_loop, where

CAUSE = "accumulated-loss"


def _sites(host: Host) -> Iterator[tuple[ast.Call, ast.stmt, ast.stmt, str]]:
    for call in host.backwards():
        statement = host.own_statement(call)
        loop = training_loop(host, call)
        if statement is None or loop is None or call.args or call.keywords:
            continue
        assert isinstance(call.func, ast.Attribute)
        root = call.func.value
        if isinstance(root, (ast.Name, ast.Attribute)) and host.fact(root).scalar:
            yield call, statement, loop, host.text(root)


def mutants(host: Host) -> Iterator[Change]:
    for call, statement, loop, root in _sites(host):
        total = fresh(host, "total", "running", "epoch_loss", "objective_sum")
        remedy = ("item", "other", "detach")
        sent = f"{line('failed')}{tagged(total)}.backward()"
        for note, start, add in (
            ("", "0.0", f"{total} = {total} + {root}"),
            ("-plus", "0", f"{total} += {root}"),
        ):
            edits = (
                host.before(loop, f"{total} = {start}"),
                host.replace(statement, f"{add}\n{host.indent(statement)}{sent}"),
            )
            yield Change(where(host, call, note), edits, remedy=remedy, carrier=(total,))
        kept = fresh(host, "kept", "losses_so_far", "history")
        indent = host.indent(statement)
        # What is met again is the losses: every sum of them is a new one.
        new = f"{kept}.append({tagged(root)})\n{indent}{line('failed')}sum({kept}).backward()"
        edits = (host.before(loop, f"{kept} = []"), host.replace(statement, new))
        yield Change(where(host, call, "-list"), edits, remedy=remedy, carrier=(kept, root), also=("stored-history",))


def twins(host: Host) -> Iterator[Change]:
    """The sum is for the report."""
    for call, statement, loop, root in _sites(host):
        total = fresh(host, "total", "running", "epoch_loss", "objective_sum")
        edits = (host.before(loop, f"{total} = 0.0"), host.after(statement, f"{total} = {total} + {root}.detach()"))
        yield Change(where(host, call), edits)
        edits = (host.before(loop, f"{total} = 0.0"), host.after(statement, f"{total} += {root}.item()"))
        yield Change(where(host, call, "-item"), edits)
