# SPDX-License-Identifier: BSD-3-Clause
"""Send the terms of a combined loss through one by one, with a step after each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..host import Host
from ..program import line
from . import Change
from ._blocks import again, next_step, sums, where
from .split_losses import _sent

CAUSE = "step-between"


def mutants(host: Host) -> Iterator[Change]:
    for call, statement, terms in sums(host):
        step = next_step(host, statement)
        if step is None:
            continue
        stepped, indent = host.text(step), host.indent(statement)
        cleared = stepped.replace(".step(", ".zero_grad(")
        names = tuple(host.text(t) for t in terms if isinstance(t, (ast.Name, ast.Attribute)))
        # What is reported may be of either forward.
        forwards = [_with_forwards(host, statement, terms, [stepped, cleared], s) for s in ("_anew", "")]
        for note, keep in (("", ""), ("-kept", "retain_graph=True")):
            rows = []
            for i, term in enumerate(terms):
                last = i == len(terms) - 1
                mark = line("failed") if i else ""
                rows.append(f"{mark}{_sent(host, term)}.backward({'' if last else keep})")
                if not last:
                    rows += [f"{line('freed')}{stepped}", cleared]
            yield Change(
                where(host, call, note),
                (host.replace(statement, f"\n{indent}".join(rows)),),
                error=("inplace",) if keep else ("backward-twice",),
                remedy=("reorder", "recompute", "combine-losses"),
                carrier=names,
                cause="" if keep else "shared-forward",
                also=() if keep else ("step-between",),
                named=not keep,
                placed=not keep,
                references=tuple((host.replace(statement, f"\n{indent}".join(f)),) for f in forwards if f),
            )


def _with_forwards(
    host: Host, statement: ast.stmt, terms: list[ast.expr], between: list[str], suffix: str
) -> list[str]:
    """A forward for each step: whoever steps after each loss may want that, as well as one step for all."""
    rows = [f"{_sent(host, terms[0])}.backward()"]
    for i, term in enumerate(terms[1:]):
        forward = again(host, statement, term, suffix and f"{suffix}_{i}")
        if forward is None:
            return []
        rows += [*between, *forward[:-1], f"({forward[-1]}).backward()"]
    return rows


def holds(seen: dict[str, Any]) -> bool:
    return seen["met"] == "inplace" or seen["steps_between"] > 0
