# SPDX-License-Identifier: BSD-3-Clause
"""Leave a branch out of the loss, or cut it off, so that some parameters never get a gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..host import Host
from ..program import line
from . import Change
from ._blocks import terms_of, where
from .cut_by_numbers import _reads

CAUSE = "unreached-parameter"
FIELDS = {
    "error": ("none",),
    "remedy": ("keep-history", "other", "reorder"),
    "named": False,
    "placed": False,
    "shows": "unreached",
}


def mutants(host: Host) -> Iterator[Change]:
    for statement in host.nodes(ast.Assign):
        terms = terms_of(statement.value)
        if len(terms) < 2 or not all(host.fact(t).history for t in terms):
            continue
        for term in terms:
            rest = [host.text(t) for t in terms if t is not term]
            edits = (host.replace(statement.value, " + ".join(rest)), host.mark(statement, line("failed")))
            yield Change(where(host, term, "-left-out"), edits, **FIELDS)  # type: ignore[arg-type]
            cut = f"{host.text(term)}.item()" if host.fact(term).scalar else f"{host.text(term)}.detach()"
            if isinstance(term, (ast.Name, ast.Call, ast.Attribute)):
                edits = (host.mark(statement, line("failed")), host.replace(term, cut))
                if term is not terms[0] or host.span(term)[0] != host.span(statement)[0]:
                    yield Change(where(host, term, "-cut"), edits, **FIELDS)  # type: ignore[arg-type]
    for name in _reads(host):
        edits = (host.replace(name, f"{line('failed')}{name.id}.detach()"),)
        yield Change(where(host, name, "-detached"), edits, **FIELDS)  # type: ignore[arg-type]


def holds(seen: dict[str, Any]) -> bool:
    return bool(seen.get("unreached"))


def twins(host: Host) -> Iterator[Change]:
    """A layer that nobody trains."""
    for call in host.steps():
        statement = host.statement(call)
        body = host.trees[host.file(statement)].body
        head = next((s for s in body if host.file(s) == "main.py" and isinstance(s, (ast.Assign, ast.Expr))), None)
        if head is not None and not isinstance(getattr(head, "value", None), ast.Constant):
            text = "spare_layer = torch.nn.Linear(2, 2)"
            state = "spare_state = torch.get_rng_state()\n" + text + "\ntorch.set_rng_state(spare_state)"
            yield Change(where(host, call), (host.after(head, state),))
            return
