# SPDX-License-Identifier: BSD-3-Clause
"""Switch gradients off for an evaluation and leave them off."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line
from . import Change
from ._blocks import where
from ._cuts import passes_marked
from ._detaches import is_no_grad, opened

CAUSE = "lost-history"


def _blocks(host: Host) -> Iterator[ast.With]:
    for block in host.nodes(ast.With):
        if (
            is_no_grad(host, block)
            and len(block.items) == 1
            and host.alone(block)
            and block.body[0].lineno > block.lineno
        ):
            yield block


def mutants(host: Host) -> Iterator[Change]:
    for block in _blocks(host):
        head = f"{host.indent(block)}{line('built')}torch.set_grad_enabled(False)\n"
        yield Change(
            where(host, block),
            (opened(host, block, head), *passes_marked(host, block)),
            error=("no-grad",),
            remedy=("keep-history", "other"),
            named=False,
            placed=False,
        )
    for function in host.nodes(ast.FunctionDef):
        if [ast.unparse(d) for d in function.decorator_list] in (["torch.no_grad()"], ["torch.no_grad"]):
            start, end = host.span(function.decorator_list[0])
            text = host.program.files[host.file(function)]
            edits = (
                Edit(host.file(function), text.rfind("\n", 0, start) + 1, text.index("\n", end) + 1, ""),
                host.before(function.body[0], f"{line('built')}torch.set_grad_enabled(False)"),
            )
            yield Change(
                where(host, function),
                (*edits, *passes_marked(host, function)),
                error=("no-grad",),
                remedy=("keep-history", "other"),
                named=False,
                placed=False,
            )


def twins(host: Host) -> Iterator[Change]:
    """Switched off, and on again."""
    for block in _blocks(host):
        leaves = any(isinstance(n, (ast.Return, ast.Break, ast.Continue, ast.Yield)) for n in ast.walk(block))
        if not leaves:
            indent = host.indent(block)
            edit = opened(host, block, f"{indent}torch.set_grad_enabled(False)\n")
            end = "" if edit.new.endswith("\n") else "\n"
            text = f"{edit.new}{end}{indent}torch.set_grad_enabled(True)\n"
            yield Change(where(host, block), (Edit(edit.file, edit.start, edit.end, text),))
