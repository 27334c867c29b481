# SPDX-License-Identifier: BSD-3-Clause
"""Compute the second player's loss before the first player's step, and send it through after it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host, names_read, names_written
from ..program import line, tagged
from . import Change
from ._blocks import where
from ._detaches import bound

CAUSE = "step-between"


def mutants(host: Host) -> Iterator[Change]:
    for step, between, backward in _sites(host):
        file = host.file(step)
        rows = []
        for s in between:
            text = host.text(s)
            value = host.text(s.value)
            head, _, tail = text.rpartition(value)
            rows.append(f"{line('built')}{head}{tagged(value) if host.fact(s.value).history else value}{tail}")
        edits = [host.before(step, *rows), host.mark(step, line("freed")), *(host.delete(s) for s in between)]
        edits.append(host.mark(backward, line("failed")))
        root = host.text(backward.value.func.value)  # type: ignore[attr-defined]
        names = (*(n for s in between for n in bound(s)), root)
        yield Change(
            where(host, step) + f"-{backward.lineno}-{file}",
            tuple(edits),
            error=("inplace",),
            remedy=("reorder", "recompute", "detach", "inputs"),
            carrier=names,
        )


def _sites(host: Host) -> Iterator[tuple[ast.stmt, list[ast.Assign], ast.Expr]]:
    """A step, the plain assignments between it and the next pass, and that pass, in one block."""
    steps = {id(host.parent(c)) for c in host.steps()}
    clears = {id(host.parent(c)) for c in host.clears()}
    passes = {id(s) for c in host.backwards() if (s := host.own_statement(c)) is not None}
    for one in host.steps():
        step = host.own_statement(one)
        if step is None:
            continue
        block = host.block(step)
        between: list[ast.Assign] = []
        for later in block[block.index(step) + 1 :]:
            if id(later) in passes:
                if between and any(host.fact(s.value).history for s in between):
                    yield step, between, later  # type: ignore[misc]
                break
            if id(later) in clears or isinstance(later, ast.Expr):
                continue
            if id(later) in steps or not isinstance(later, ast.Assign) or not host.alone(later):
                break
            between.append(later)


def twins(host: Host) -> Iterator[Change]:
    """What is computed before the step is only looked at after it."""
    for step, between, _ in _sites(host):
        first = between[0]
        before = names_written(host.trees[host.file(step)])
        if names_read(first.value) and before and host.fact(first.value).history:
            text = f"with torch.no_grad():\n    before_step = {host.text(first.value)}"
            yield Change(where(host, step), (host.before(step, text),))
