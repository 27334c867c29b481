# SPDX-License-Identifier: BSD-3-Clause
"""Keep losses with their history where the host keeps numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import line
from . import Change
from ._blocks import where
from ._detaches import bound, in_store

CAUSE = "graph-leak"
FIELDS = {"error": ("none",), "remedy": ("item", "detach"), "placed": False, "shows": "alive"}


def mutants(host: Host) -> Iterator[Change]:
    for call, value in _numbers(host):
        statement = host.statement(call)
        added = isinstance(statement, ast.AugAssign) or (
            isinstance(statement, ast.Assign)
            and set(bound(statement)) & {ast.unparse(n) for n in ast.walk(statement.value)}
        )
        if not in_store(host, call) and not added:
            continue
        names = bound(statement) or tuple(
            host.text(c.func.value)
            for c in ast.walk(statement)
            if isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute) and c is not call
        )
        edits = (host.replace(call, f"{line('failed')}{host.text(value)}"),)
        if host.span(call)[0] != host.span(statement)[0]:
            edits = (*edits, host.mark(statement, line("failed")))
        yield Change(where(host, call), edits, carrier=names, **FIELDS)  # type: ignore[arg-type]


def _numbers(host: Host) -> Iterator[tuple[ast.Call, ast.expr]]:
    for call in host.method_calls("item", "detach"):
        assert isinstance(call.func, ast.Attribute)
        value = call.func.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "detach":
            value = value.func.value
        if host.fact(value).history:
            yield call, value
    for call in host.nodes(ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id == "float" and len(call.args) == 1:
            if host.fact(call.args[0]).history:
                yield call, call.args[0]


def twins(host: Host) -> Iterator[Change]:
    """The same values, detached."""
    for call, value in _numbers(host):
        if in_store(host, call) and host.fact(value).scalar:
            yield Change(where(host, call), (host.replace(call, f"{host.text(value)}.detach()"),))
