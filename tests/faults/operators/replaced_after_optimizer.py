# SPDX-License-Identifier: BSD-3-Clause
"""Replace a layer, or copy the model, after the optimizer was given its parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..host import Host
from ..program import line
from . import Change
from ._blocks import top, where

CAUSE = "unreached-parameter"
FIELDS = {
    "error": ("none",),
    "remedy": ("reorder", "other", "keep-history"),
    "named": False,
    "placed": False,
    "shows": "unreached",
}


def _sites(host: Host) -> Iterator[tuple[ast.Assign, str]]:
    """Statements that make an optimizer of `name.parameters()`, with that name."""
    for statement in host.nodes(ast.Assign):
        value = statement.value
        if not isinstance(value, ast.Call) or "optimizer" not in host.fact(value).kinds or not host.alone(statement):
            continue
        first = value.args[0] if value.args else None
        if isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute) and first.func.attr == "parameters":
            owner = first.func.value
            if isinstance(owner, (ast.Name, ast.Attribute)) and "module" in host.fact(owner).kinds:
                yield statement, host.text(owner)


def mutants(host: Host) -> Iterator[Change]:
    for statement, name in _sites(host):
        edits = (
            host.before(top(host, host.file(statement)), "import copy"),
            host.mark(statement, line("failed")),
            host.after(statement, f"{line('failed')}{name} = copy.deepcopy({name})"),
        )
        yield Change(where(host, statement, f"-{name}"), edits, **FIELDS)  # type: ignore[arg-type]


def holds(seen: dict[str, Any]) -> bool:
    return bool(seen.get("unreached"))


def twins(host: Host) -> Iterator[Change]:
    """The copy is another one, which nobody trains."""
    for statement, name in _sites(host):
        edits = (
            host.before(top(host, host.file(statement)), "import copy"),
            host.after(statement, f"untouched = copy.deepcopy({name})"),
        )
        yield Change(where(host, statement, f"-{name}"), edits)
