# SPDX-License-Identifier: BSD-3-Clause
"""Compute in the constructor what every forward needs anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Function, Host, names_read
from ..program import tagged
from . import Change
from ._blocks import where, with_history
from ._detaches import bound

CAUSE = "hoisted-forward"


def mutants(host: Host) -> Iterator[Change]:
    for statement, method, init in _sites(host):
        name = bound(statement)[0]
        attribute = f"self.{name}"
        edits = [host.delete(statement)]
        edits += [
            host.replace(n, attribute)
            for n in ast.walk(method)
            if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        ]
        edits.append(host.after(init.body[-1], f"{attribute} = {tagged(host.text(statement.value))}"))
        yield Change(where(host, statement), tuple(edits), remedy=("recompute",), carrier=(attribute, name))


def _sites(host: Host) -> Iterator[tuple[ast.Assign, ast.FunctionDef, ast.FunctionDef]]:
    for statement in host.nodes(ast.Assign):
        method = host.parent(statement)
        owner = host.parent(method) if isinstance(method, Function) else None
        if not isinstance(owner, ast.ClassDef) or not isinstance(method, ast.FunctionDef):
            continue
        init = next((m for m in owner.body if isinstance(m, ast.FunctionDef) and m.name == "__init__"), None)
        names = bound(statement)
        if init is None or method is init or len(names) != 1 or "." in names[0] or not with_history(host, statement):
            continue
        if host.ran_times(statement) < 3 or host.draws(statement) or not host.alone(statement):
            continue
        local = {a.arg for a in [*method.args.args, *method.args.kwonlyargs]} - {"self"}
        local |= {n.id for n in ast.walk(method) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        written = [n for n in ast.walk(method) if isinstance(n, ast.Name) and n.id == names[0]]
        stores = [n for n in written if isinstance(n.ctx, ast.Store)]
        if names_read(statement.value) & local or len(stores) != 1 or "self" not in names_read(statement.value):
            continue
        yield statement, method, init


def twins(host: Host) -> Iterator[Change]:
    """The constructor looks at the value once, without history."""
    for statement, _, init in _sites(host):
        text = f"with torch.no_grad():\n    self.first_shape = tuple(({host.text(statement.value)}).shape)"
        yield Change(where(host, statement), (host.after(init.body[-1], text),))
