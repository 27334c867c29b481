# SPDX-License-Identifier: BSD-3-Clause
"""Repeat pass and step in a small loop that leaves the forward outside."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line, tagged
from . import Change
from ._blocks import again, fresh, next_step, where

CAUSE = "repeated-backward"


def _spans(host: Host) -> Iterator[tuple[object, Edit, Edit | None]]:
    """Calls, each with the mutant, and with the program that computes the loss anew in every turn but the first."""
    for call in host.backwards():
        statement = host.own_statement(call)
        step = next_step(host, statement) if statement is not None else None
        if statement is None or step is None or call.keywords or call.args:
            continue
        block = host.block(statement)
        some = block[block.index(statement) : block.index(step) + 1]
        if not host.alone(*some) or len(some) > 4:
            continue
        start, end = host.rows(*some)
        text = host.program.files[host.file(statement)][start:end]
        root = host.text(call.func.value)  # type: ignore[attr-defined]
        text = text.replace(f"{root}.backward", f"{line('failed')}{tagged(root)}.backward", 1)
        indent = host.indent(statement)
        name = fresh(host, "repeat", "inner", "again")
        rows = [f"    {r}" if r.strip() else r for r in text.rstrip("\n").split("\n")]
        head = f"{indent}for {name} in range(2):\n"
        clear = host.text(step).replace(".step(", ".zero_grad(")
        body = "\n".join(rows) + f"\n{indent}    {clear}\n"
        anew = again(host, statement, call.func.value, "")  # type: ignore[attr-defined]
        forward = "".join(f"{indent}        {row}\n" for row in (anew or ())[:-1])
        right = f"{head}{indent}    if {name}:\n{forward}{body}"
        file = host.file(statement)
        yield call, Edit(file, start, end, head + body), Edit(file, start, end, right) if forward else None


def mutants(host: Host) -> Iterator[Change]:
    for call, edit, right in _spans(host):
        root = host.text(call.func.value)  # type: ignore[attr-defined]
        references = ((right,),) if right is not None else ()
        remedy = ("recompute", "other")
        yield Change(where(host, call), (edit,), remedy=remedy, carrier=(root,), references=references)  # type: ignore[arg-type]


def twins(host: Host) -> Iterator[Change]:
    """A loop of one turn."""
    for call, edit, _ in _spans(host):
        once = Edit(edit.file, edit.start, edit.end, edit.new.replace("in range(2)", "in range(1)", 1))
        yield Change(where(host, call), (once,))  # type: ignore[arg-type]
