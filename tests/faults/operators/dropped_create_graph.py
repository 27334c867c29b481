# SPDX-License-Identifier: BSD-3-Clause
"""Forget create_graph where a gradient is differentiated again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line
from . import Change
from ._blocks import where

CAUSE = "missing-create-graph"


def _sites(host: Host) -> Iterator[tuple[ast.Call, ast.keyword]]:
    for call in host.nodes(ast.Call):
        for keyword in call.keywords:
            if (
                keyword.arg == "create_graph"
                and isinstance(keyword.value, ast.Constant)
                and keyword.value.value is True
            ):
                if host.fact(call).count:
                    yield call, keyword


def mutants(host: Host) -> Iterator[Change]:
    marks = [host.mark(host.statement(c), line("failed")) for c in host.backwards()]
    for call, keyword in _sites(host):
        text = host.program.files[host.file(call)]
        start, end = host.span(keyword)
        if text[end : end + 1] == ",":
            end += 1 + (text[end + 1 : end + 2] == " ")
        else:
            start = text.rindex(",", 0, start)
        edits = [Edit(host.file(call), start, end, ""), host.mark(call, line("failed"))]
        edits += [m for m in marks if not (m.file == host.file(call) and m.start == host.span(call)[0])]
        for note, kept in (("", None), ("-retained", "retain_graph=True")):
            if kept and any(k.arg == "retain_graph" for k in call.keywords):
                continue
            now = [host.replace(keyword, kept), *edits[1:]] if kept else edits
            yield Change(
                where(host, call, note),
                tuple(now),
                error=("none", "backward-twice", "no-grad", "other"),
                remedy=("create-graph",),
                named=False,
                placed=False,
            )


def twins(host: Host) -> Iterator[Change]:
    """A gradient that is only looked at needs no graph of its own."""
    for call, keyword in _sites(host):
        statement = host.statement(call)
        # What is computed in the call itself is nobody else's: to keep that would be needless.
        named = bool(call.args) and isinstance(call.args[0], (ast.Name, ast.Attribute))
        if named and isinstance(statement, ast.Assign) and statement.value is call and host.alone(statement):
            text = host.text(call).replace(host.text(keyword), "retain_graph=True")
            yield Change(where(host, call), (host.before(statement, f"only_seen = {text}"),), shows="needed")
