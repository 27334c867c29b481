# SPDX-License-Identifier: BSD-3-Clause
"""Forget to clear the gradients, clear them once, or clear another optimizer's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line
from . import Change
from ._blocks import training_loop, where

CAUSE = "missing-zero-grad"


def mutants(host: Host) -> Iterator[Change]:
    receivers = {host.text(c.func.value): c for c in host.clears()}  # type: ignore[attr-defined]
    for call in host.clears():
        statement = host.own_statement(call)
        if statement is None:
            continue
        marks = marked(host, statement)
        fields = {"error": ("none",), "remedy": ("add-zero-grad", "reorder", "other"), "named": False, "placed": False}
        yield Change(where(host, call), (host.delete(statement), *marks), **fields)  # type: ignore[arg-type]
        loop = training_loop(host, call)
        if loop is not None:
            edits = (host.before(loop, host.text(statement)), host.delete(statement), *marks)
            yield Change(where(host, call, "-once"), edits, **fields)  # type: ignore[arg-type]
        assert isinstance(call.func, ast.Attribute)
        own = host.fact(call.func.value)
        for text, other in receivers.items():
            theirs = host.fact(other.func.value)  # type: ignore[attr-defined]
            if own.optimizer is not None and theirs.optimizer not in (None, own.optimizer):
                swapped = host.text(call).replace(host.text(call.func.value), text, 1)
                yield Change(
                    where(host, call, f"-{text}"), (host.replace(call, line("failed") + swapped), *marks), **fields
                )  # type: ignore[arg-type]
                break


def marked(host: Host, besides: ast.stmt) -> list[Edit]:
    """The lines that a reader would point at: passes, steps and the loops around them."""
    start, end = host.rows(besides)
    spots = [host.statement(c) for c in (*host.backwards(), *host.steps())]
    for clear in host.clears():
        spots.append(host.statement(clear))
    edits = {(host.file(s), host.span(s)[0]): host.mark(s, line("failed")) for s in spots}
    return [e for (f, at), e in edits.items() if f != host.file(besides) or not start <= at < end]


def twins(host: Host) -> Iterator[Change]:
    """Cleared by hand."""
    for call in host.clears():
        statement = host.own_statement(call)
        assert isinstance(call.func, ast.Attribute)
        if statement is None or "optimizer" not in host.fact(call.func.value).kinds or call.args or call.keywords:
            continue
        name, indent = host.text(call.func.value), host.indent(statement)
        loops = [
            f'for group in {name}.param_groups:\n{indent}    for p in group["params"]:\n{indent}        p.grad = None',
            f'for group in {name}.param_groups:\n{indent}    for p in group["params"]:\n'
            f"{indent}        if p.grad is not None:\n{indent}            p.grad.zero_()",
        ]
        for note, text in zip(("-none", "-zero"), loops, strict=True):
            yield Change(where(host, call, note), (host.replace(statement, text),))
