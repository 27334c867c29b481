# SPDX-License-Identifier: BSD-3-Clause
"""Clear the gradients between the pass and the step, or for every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host, Loop
from ..program import line
from . import Change
from ._blocks import last_clear, next_step, where
from .dropped_zero_grad import marked

CAUSE = "misplaced-zero-grad"
FIELDS = {"error": ("none",), "remedy": ("reorder", "other"), "named": False, "placed": False}


def mutants(host: Host) -> Iterator[Change]:
    for call in host.backwards():
        statement = host.own_statement(call)
        step = next_step(host, statement) if statement is not None else None
        clear = last_clear(host, statement) if statement is not None else None
        if statement is not None and step is not None and clear is not None and host.alone(clear):
            marks = [m for m in marked(host, clear) if m.start != host.span(step)[0] or m.file != host.file(step)]
            text = f"{line('failed')}{host.text(clear)}\n{host.indent(step)}{line('failed')}{host.text(step)}"
            edits = (host.delete(clear), host.replace(step, text), *marks)
            yield Change(where(host, call), edits, **FIELDS)  # type: ignore[arg-type]
    for call in host.clears():
        statement = host.own_statement(call)
        if statement is None:
            continue
        block = host.block(statement)
        for inner in block[block.index(statement) + 1 :]:
            if isinstance(inner, Loop) and any(inner in host.around(b) for b in host.backwards()):
                edits = (
                    host.delete(statement),
                    host.before(inner.body[0], f"{line('failed')}{host.text(statement)}"),
                    *marked(host, statement),
                )
                yield Change(where(host, call, "-inner"), edits, **FIELDS)  # type: ignore[arg-type]


def twins(host: Host) -> Iterator[Change]:
    """Cleared right after the step, or every second iteration on purpose, with the step."""
    for call in host.backwards():
        statement = host.own_statement(call)
        step = next_step(host, statement) if statement is not None else None
        clear = last_clear(host, statement) if statement is not None else None
        if statement is None or step is None or clear is None or not host.alone(clear):
            continue
        if host.text(clear).partition(".zero_grad")[0] == host.text(step).partition(".step")[0]:
            yield Change(where(host, call), (host.delete(clear), host.after(step, host.text(clear))))
