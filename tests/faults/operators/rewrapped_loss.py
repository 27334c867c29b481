# SPDX-License-Identifier: BSD-3-Clause
"""Silence an error by making the loss a new leaf."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import line
from . import Change
from ._blocks import where

CAUSE = "lost-history"

_WAYS = (
    "{0} = torch.tensor({0}.item(), requires_grad=True)",
    "{0} = torch.autograd.Variable({0}.data, requires_grad=True)",
    "{0} = {0}.detach().requires_grad_()",
)


def _sites(host: Host) -> Iterator[tuple[ast.Call, ast.stmt, str]]:
    for call in host.backwards():
        statement = host.own_statement(call)
        assert isinstance(call.func, ast.Attribute)
        root = call.func.value
        if statement is not None and isinstance(root, ast.Name) and host.fact(root).scalar and not call.keywords:
            yield call, statement, root.id


def mutants(host: Host) -> Iterator[Change]:
    for i, (call, statement, root) in enumerate(_sites(host)):
        for way in (_WAYS[i % 3], _WAYS[(i + 1) % 3]):
            edits = (
                host.before(statement, line("built") + line("failed") + way.format(root)),
                host.mark(statement, line("failed")),
            )
            yield Change(
                where(host, call, f"-{_WAYS.index(way)}"),
                edits,
                error=("none",),
                remedy=("keep-history", "other"),
                carrier=(root,),
                placed=False,
            )


def twins(host: Host) -> Iterator[Change]:
    """A new leaf beside the loss, whose gradient is asked for by itself."""
    for call, statement, root in _sites(host):
        text = f"beside = {root}.detach().requires_grad_()\n(beside * 2).backward()"
        yield Change(where(host, call), (host.after(statement, text),))
