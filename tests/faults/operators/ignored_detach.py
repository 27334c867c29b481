# SPDX-License-Identifier: BSD-3-Clause
"""Call detach on a state and drop what it returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..host import Host
from . import Change
from ._detaches import bound, loads, same

CAUSE = "carried-state"


def mutants(host: Host) -> Iterator[Change]:
    for call in host.method_calls("detach"):
        statement = host.statement(call)
        if isinstance(statement, ast.Assign) and same(statement, call) and host.alone(statement):
            names = bound(statement)
            edits = (host.replace(statement, host.text(call)), *loads(host, statement, names))
            yield Change(f"{host.file(call)}:{call.lineno}", edits, remedy=("detach",), carrier=names)


def holds(seen: dict[str, Any]) -> bool:
    return bool(seen["recurs"])


def twins(host: Host) -> Iterator[Change]:
    """`detach_` does work in place."""
    for call in host.method_calls("detach"):
        statement = host.statement(call)
        if isinstance(statement, ast.Assign) and same(statement, call):
            assert isinstance(call.func, ast.Attribute)
            text = f"{host.text(call.func.value)}.detach_()"
            yield Change(f"{host.file(call)}:{call.lineno}", (host.replace(statement, text),))
