# SPDX-License-Identifier: BSD-3-Clause
"""A part of a network is exchanged where the optimizer cannot be made again: it is given the new parameters."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ...record import Finding
from ..find.flow import assigned_value, simple, written
from ..find.project import Project
from ..proposal import Way

__all__ = ["handed_over"]


def handed_over(finding: Finding, optimizer: str, project: Project) -> Iterator[Way]:
    """The new parameters take the place of the old ones, in the group that held these."""
    here = project.at(finding.failed)
    if not here or not optimizer:
        return
    source, exchange = here
    scope = source.scope(exchange)
    names = [n for n in written(exchange) if assigned_value(exchange, n) is not None and "[" not in n]
    if len(names) != 1 or not isinstance(exchange, cst.SimpleStatementLine) or not isinstance(scope, cst.FunctionDef):
        return
    if optimizer.startswith("self."):
        methods = [f for f in source.functions if source.class_of(f) is source.class_of(scope)]
    else:
        methods = [scope]
    if not any(optimizer in written(s) for f in methods for s in simple(source.body(f))):
        return  # not known here by that name
    way = Way(title=f"Give `{optimizer}` the parameters of the new `{names[0]}`", safe=False)
    way.why = "an optimizer moves the parameters that it holds, and it holds those of the old one"
    way.patch.insert_before(source, exchange, [f"old = list({names[0]}.parameters())"])
    way.patch.insert_after(
        source,
        exchange,
        [
            f"for group in {optimizer}.param_groups:",
            '    if any(p is q for p in group["params"] for q in old):',
            '        kept = [p for p in group["params"] if not any(p is q for q in old)]',
            f'        group["params"] = [*kept, *{names[0]}.parameters()]',
        ],
    )
    yield way
