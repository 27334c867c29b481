# SPDX-License-Identifier: BSD-3-Clause
"""Take a tensor through numpy, a list, a number or a new tensor on its way to the loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import line
from . import Change
from ._blocks import where
from ._cuts import passes_marked
from ._detaches import bound

CAUSE = "lost-history"

_WAYS = {
    "numpy": "torch.from_numpy({0}.detach().numpy())",
    "list": "torch.tensor({0}.tolist())",
    "wrap": "torch.tensor({0}.detach().numpy())",
    "data": "{0}.data",
    "detach": "{0}.detach()",
}


def mutants(host: Host) -> Iterator[Change]:
    """Names that are read where a loss is made; whether it then has no history at all is seen by running it."""
    ways = list(_WAYS.items())
    for i, name in enumerate(_reads(host)):
        how, form = ways[i % len(ways)]
        statement = host.statement(name)
        cut = form.format(host.text(name))
        names = (host.text(name), *bound(statement))
        yield Change(
            where(host, name, f"-{how}"),
            (host.replace(name, line("built") + cut), *passes_marked(host, statement)),
            error=("no-grad",),
            remedy=("keep-history", "other"),
            carrier=names,
            placed=False,
        )


def _reads(host: Host) -> Iterator[ast.Name]:
    for name in host.nodes(ast.Name):
        parent = host.parent(name)
        plain = isinstance(parent, (ast.Call, ast.BinOp)) and name is not getattr(parent, "func", None)
        statement = host.statement(name)
        if plain and host.fact(name).history and isinstance(statement, (ast.Assign, ast.Return)):
            yield name


def twins(host: Host) -> Iterator[Change]:
    """The numbers are for the report."""
    for name in _reads(host):
        statement = host.statement(name)
        if host.alone(statement) and host.fact(name).kinds == ("history",):
            yield Change(where(host, name), (host.before(statement, f"shown = {name.id}.detach().numpy().mean()"),))
