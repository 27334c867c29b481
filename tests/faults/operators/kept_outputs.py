# SPDX-License-Identifier: BSD-3-Clause
"""Collect outputs with their history in a list, a dict, a deque, an attribute or a closure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import line
from . import Change
from ._blocks import fresh, training_loop, turns, where, with_history
from ._detaches import bound

CAUSE = "graph-leak"
FIELDS = {"error": ("none",), "remedy": ("detach", "item"), "placed": False, "shows": "alive"}


def _sites(host: Host) -> Iterator[tuple[ast.Assign, ast.stmt, str]]:
    for statement in host.nodes(ast.Assign):
        names = bound(statement)
        loop = training_loop(host, statement)
        if len(names) == 1 and loop is not None and host.alone(statement) and with_history(host, statement):
            if turns(host, loop) > 5 and names[0].isidentifier() and host.fact(statement.value).history:
                yield statement, loop, names[0]


def mutants(host: Host) -> Iterator[Change]:
    kept = fresh(host, "collected", "trace_of_outputs", "outputs_so_far")
    ways = (
        ("list", f"{kept} = []", f"{kept}.append({{0}})"),
        ("dict", f"{kept} = {{{{}}}}", f"{kept}[len({kept})] = {{0}}"),
        ("pairs", f"{kept} = []", f"{kept}.append(({{0}}, len({kept})))"),
        ("records", f"{kept} = []", f'{kept}.append({{{{"value": {{0}}}}}})'),
        ("closure", f"{kept} = []\nremember_{kept} = {kept}.append", f"remember_{kept}({{0}})"),
    )
    for i, (statement, loop, name) in enumerate(_sites(host)):
        for way in (ways[i % 5], ways[(i + 2) % 5]):
            label, start, keep = way
            edits = (
                host.before(loop, start.format(name)),
                host.after(statement, line("failed") + keep.format(name)),
            )
            yield Change(where(host, statement, f"-{label}"), edits, carrier=(kept, name), **FIELDS)  # type: ignore[arg-type]


def twins(host: Host) -> Iterator[Change]:
    """A list that begins anew with every iteration; a list of detached values; the last few only."""
    kept = fresh(host, "collected", "trace_of_outputs", "outputs_so_far")
    for statement, loop, name in _sites(host):
        yield Change(where(host, statement, "-new"), (host.after(statement, f"{kept} = []\n{kept}.append({name})"),))
        edits = (host.before(loop, f"{kept} = []"), host.after(statement, f"{kept}.append({name}.detach())"))
        yield Change(where(host, statement, "-detached"), edits)
        edits = (host.before(loop, f"{kept} = []"), host.after(statement, f"{kept}.append({name})\ndel {kept}[:-1]"))
        yield Change(where(host, statement, "-last"), edits)
