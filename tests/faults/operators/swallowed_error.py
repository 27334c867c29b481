# SPDX-License-Identifier: BSD-3-Clause
"""Catch the error of a repeated pass or a carried state and go on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line, tagged
from . import Change
from ._blocks import next_step, training_loop, where
from ._detaches import sites

CAUSE = "swallowed-error"
FIELDS = {"error": ("swallowed",), "remedy": ("detach", "recompute", "other", "combine-losses")}


def mutants(host: Host) -> Iterator[Change]:
    for call in host.backwards():
        statement = host.own_statement(call)
        if statement is None or call.args or call.keywords or training_loop(host, call) is None:
            continue
        root = host.text(call.func.value)  # type: ignore[attr-defined]
        guard = _guard(host, [statement])
        if isinstance(host.parent(statement), (ast.For, ast.While)):
            for site, _, edits, names in sites(host, stored=False):
                if any(e.file == guard.file and e.start < guard.end and e.end > guard.start for e in edits):
                    continue
                yield Change(where(host, call) + f"-{site}", (*edits, guard), carrier=names, **FIELDS)  # type: ignore[arg-type]
        step = next_step(host, statement)
        if step is not None:
            indent = host.indent(step)
            rows = [
                f"{line('failed')}try:",
                f"    {line('failed')}{tagged(root)}.backward()",
                f"    {host.text(step)}",
                f"{line('failed')}except RuntimeError:",
                f"    {line('failed')}pass",
            ]
            edit = host.after(step, "\n".join(rows), indent=indent)
            yield Change(where(host, call, "-again"), (edit,), carrier=(root,), **FIELDS)  # type: ignore[arg-type]


def _guard(host: Host, statements: list[ast.stmt]) -> Edit:
    start, end = host.rows(*statements)
    indent = host.indent(statements[0])
    rows = host.program.files[host.file(statements[0])][start:end].rstrip("\n").split("\n")
    body = "".join(f"    {indent}{line('failed')}{r[len(indent) :]}\n" for r in rows)
    text = f"{indent}{line('failed')}try:\n{body}{indent}{line('failed')}except RuntimeError:\n{indent}    {line('failed')}continue\n"
    return Edit(host.file(statements[0]), start, end, text)


def twins(host: Host) -> Iterator[Change]:
    """A guard against something else that never happens."""
    for call in host.backwards():
        statement = host.own_statement(call)
        if statement is not None:
            indent = host.indent(statement)
            text = f"try:\n{indent}    {host.text(statement)}\n{indent}except FloatingPointError:\n{indent}    raise"
            yield Change(where(host, call), (host.replace(statement, text),))
