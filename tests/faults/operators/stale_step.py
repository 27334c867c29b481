# SPDX-License-Identifier: BSD-3-Clause
"""Step twice on one gradient, or step where no new gradient came."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host, names_read, names_written
from ..program import Edit, line
from . import Change
from ._blocks import fresh, last_clear, next_step, training_loop, where

CAUSE = "stale-gradient"
FIELDS = {
    "error": ("none",),
    "remedy": ("other", "recompute", "reorder", "add-zero-grad"),
    "named": False,
    "placed": False,
}


def mutants(host: Host) -> Iterator[Change]:
    for call in host.steps():
        statement = host.own_statement(call)
        if statement is not None:
            again = f"{line('failed')}{host.text(statement)}"
            edits = (host.mark(statement, line("failed")), host.after(statement, again))
            yield Change(where(host, call), edits, **FIELDS)  # type: ignore[arg-type]
    for clear, statement, step, loop in _windows(host):
        edits = _guarded(host, clear, statement, loop, 2)
        block = host.block(statement)
        together = host.alone(*block[block.index(clear) : block.index(step) + 1])
        yield Change(
            where(host, statement, "-skipped"),
            (*edits, host.mark(step, line("failed"))),
            references=(_guarded(host, clear, step, loop, 2),) if together else (),  # the step is left out as well
            **FIELDS,  # type: ignore[arg-type]
        )


def _windows(host: Host) -> Iterator[tuple[ast.stmt, ast.stmt, ast.stmt, ast.stmt]]:
    for call in host.backwards():
        statement = host.own_statement(call)
        loop = training_loop(host, call)
        if statement is None or loop is None or statement not in loop.body:  # type: ignore[attr-defined]
            continue
        step, clear = next_step(host, statement), last_clear(host, statement)
        if step is None or clear is None:
            continue
        block = host.block(statement)
        if isinstance(loop, ast.For) and names_written(loop.target) & names_read(step):
            continue  # every turn has an optimizer of its own: one that is always left out never gets a gradient
        if block.index(statement) == block.index(clear) + 1 and host.alone(clear, statement):
            yield clear, statement, step, loop


def _guarded(host: Host, first: ast.stmt, last: ast.stmt, loop: ast.stmt, every: int) -> tuple[Edit, ...]:
    """Statements under `if turn % n == 0`, with a counter of the loop's turns."""
    name = fresh(host, "turn", "nth", "count")
    block = host.block(first)
    some = block[block.index(first) : block.index(last) + 1]
    start, end = host.rows(*some)
    rows = host.program.files[host.file(first)][start:end].rstrip("\n").split("\n")
    indent = host.indent(first)
    text = f"{indent}{name} += 1\n{indent}if {name} % {every} == 0:\n" + "".join(f"    {r}\n" for r in rows)
    return host.before(loop, f"{name} = -1"), Edit(host.file(first), start, end, text)


def twins(host: Host) -> Iterator[Change]:
    """Pass and step are left out together."""
    for clear, statement, step, loop in _windows(host):
        block = host.block(statement)
        some = block[block.index(clear) : block.index(step) + 1]
        steps = [s for s in ast.walk(loop) if isinstance(s, ast.Attribute) and s.attr == "step"]
        if host.alone(*some) and len(steps) == 1:  # another optimizer would step on what is left
            yield Change(where(host, statement), _guarded(host, clear, step, loop, 2))
