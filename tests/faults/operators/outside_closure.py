# SPDX-License-Identifier: BSD-3-Clause
"""Compute before an optimizer's closure what the closure must compute anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Function, Host
from ..program import tagged
from . import Change
from ._blocks import constant_in, the_loss_itself, where, with_history
from ._detaches import bound

CAUSE = "hoisted-forward"


def mutants(host: Host) -> Iterator[Change]:
    for closure in _closures(host):
        for statement in closure.body:
            if not isinstance(statement, ast.Assign) or not with_history(host, statement):
                continue
            if host.ran_times(statement) < 3 or not host.alone(statement) or not constant_in(host, statement, closure):
                continue
            text = f"{ast.unparse(statement.targets[0])} = {tagged(host.text(statement.value))}"
            edits = (host.before(closure, text), host.delete(statement))
            names = bound(statement)
            yield Change(
                where(host, statement), edits, remedy=("recompute",), carrier=names, also=the_loss_itself(host, names)
            )


def _closures(host: Host) -> Iterator[ast.FunctionDef]:
    passed = set()
    for call in host.method_calls("step"):
        passed |= {a.id for a in call.args if isinstance(a, ast.Name)}
    for function in host.nodes(*Function):
        if function.name in passed and isinstance(host.parent(function), (*Function, ast.Module, ast.For, ast.While)):
            yield function


def twins(host: Host) -> Iterator[Change]:
    """A look at the value before the closure, without history."""
    for closure in _closures(host):
        for statement in closure.body:
            if isinstance(statement, ast.Assign) and with_history(host, statement):
                if host.alone(statement) and constant_in(host, statement, closure):
                    text = f"with torch.no_grad():\n    at_start = {host.text(statement.value)}"
                    yield Change(where(host, statement), (host.before(closure, text),))
