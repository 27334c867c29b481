# SPDX-License-Identifier: BSD-3-Clause
"""Compute a part of the loss with gradients switched off."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Function, Host
from ..program import line
from . import Change
from ._blocks import where, with_history
from ._cuts import passes_marked
from ._detaches import bound

CAUSE = "lost-history"


def mutants(host: Host) -> Iterator[Change]:
    for statement in host.nodes(ast.Assign):
        if (
            with_history(host, statement)
            and host.alone(statement)
            and isinstance(statement.value, (ast.Call, ast.BinOp))
        ):
            new = f"{line('built')}with torch.no_grad():\n{host.indent(statement)}    {line('built')}{_inner(host, statement)}"
            yield Change(
                where(host, statement),
                (host.replace(statement, new), *passes_marked(host, statement)),
                error=("no-grad",),
                remedy=("keep-history", "other"),
                carrier=bound(statement),
                placed=False,
            )
    for function in host.nodes(*Function):
        returns = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
        if returns and not function.decorator_list and all(host.fact(r.value).history for r in returns):
            edits = [host.before(function, f"{line('built')}@torch.no_grad()"), host.mark(function, line("built"))]
            edits += [host.mark(s, line("built")) for s in function.body]
            yield Change(
                where(host, function),
                (*edits, *passes_marked(host, function)),
                error=("no-grad",),
                remedy=("keep-history", "other"),
                named=False,
                placed=False,
            )


def _inner(host: Host, statement: ast.stmt) -> str:
    return host.text(statement).replace("\n", "\n    ")


def twins(host: Host) -> Iterator[Change]:
    """Only what is logged is computed without history."""
    for statement in host.nodes(ast.Assign):
        calls = isinstance(statement.value, (ast.Call, ast.BinOp))
        if with_history(host, statement) and host.alone(statement) and calls and not host.draws(statement):
            text = f"with torch.no_grad():\n    logged = {host.text(statement.value)}"
            if host.fact(statement.value).type == "Tensor" and "self." not in text:
                yield Change(where(host, statement), (host.after(statement, text),))
