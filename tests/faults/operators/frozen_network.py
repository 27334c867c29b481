# SPDX-License-Identifier: BSD-3-Clause
"""Freeze a network for a moment and forget to thaw it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import line
from . import Change
from ._blocks import training_loop, where
from ._cuts import passes_marked

CAUSE = "lost-history"


def mutants(host: Host) -> Iterator[Change]:
    for statement, name in _models(host):
        freeze = f"{line('built')}for weight in {name}.parameters():\n    {line('built')}weight.requires_grad_(False)"
        yield Change(
            where(host, statement, f"-{name}"),
            (host.before(statement, freeze), *passes_marked(host, statement)),
            error=("no-grad",),
            remedy=("keep-history", "other"),
            named=False,
            placed=False,
        )


def _models(host: Host) -> Iterator[tuple[ast.stmt, str]]:
    """Loops with a network that is called in them, by its name."""
    seen = set()
    for call in host.nodes(ast.Call):
        loop = training_loop(host, call)
        if loop is None or not isinstance(call.func, ast.Name) or not host.fact(call).history:
            continue
        made = [n for n in host.nodes(ast.Name) if n.id == call.func.id and "module" in host.fact(n).kinds]
        if made and (id(loop), call.func.id) not in seen:
            seen.add((id(loop), call.func.id))
            yield loop, call.func.id


def twins(host: Host) -> Iterator[Change]:
    """Frozen and thawed again."""
    for statement, name in _models(host):
        text = f"for weight in {name}.parameters():\n    weight.requires_grad_(False)\n{name}.requires_grad_(True)"
        frozen = any("requires_grad" in t for t in host.program.files.values())
        if not frozen:
            yield Change(where(host, statement, f"-{name}"), (host.before(statement, text),))
