# SPDX-License-Identifier: BSD-3-Clause
"""Send the terms of a combined loss through one by one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..host import Host
from ..program import line
from . import Change
from ._blocks import sums, where

CAUSE = "shared-forward"


def mutants(host: Host) -> Iterator[Change]:
    for call, statement, terms in sums(host):
        parts = [f"{_sent(host, t)}.backward()" for t in terms]
        new = f"\n{host.indent(statement)}".join([parts[0], *(f"{line('failed')}{p}" for p in parts[1:])])
        names = tuple(host.text(t) for t in terms if isinstance(t, (ast.Name, ast.Attribute)))
        yield Change(where(host, call), (host.replace(statement, new),), remedy=("combine-losses",), carrier=names)


def _sent(host: Host, term: ast.expr) -> str:
    text = host.text(term)
    return text if isinstance(term, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"


def holds(seen: dict[str, Any]) -> bool:
    return not seen["steps_between"]


def twins(host: Host) -> Iterator[Change]:
    """One walk over all of them, or the graph kept for as long as it is needed."""
    for call, statement, terms in sums(host):
        texts = [_sent(host, t) for t in terms]
        yield Change(
            where(host, call, "-one"), (host.replace(statement, f"torch.autograd.backward([{', '.join(texts)}])"),)
        )
        parts = [f"{t}.backward(retain_graph=True)" for t in texts[:-1]] + [f"{texts[-1]}.backward()"]
        if _overlap(host, terms):
            kept = host.replace(statement, f"\n{host.indent(statement)}".join(parts))
            yield Change(where(host, call, "-kept"), (kept,), shows="needed")


def _overlap(host: Host, terms: list[ast.expr]) -> bool:
    """Whether every term but the last shares leaves with a later one, so that its graph must be kept.

    Leaves do not tell whether what saves something is shared; the verification asks whether it fails without.
    """
    leaves = [host.fact(t).leaves for t in terms]
    return all(any(a & b for b in leaves[i + 1 :]) for i, a in enumerate(leaves[:-1]))
