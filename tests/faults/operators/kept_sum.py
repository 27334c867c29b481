# SPDX-License-Identifier: BSD-3-Clause
"""Keep the sum of the losses in an object or a dict, and send the sum through instead of the loss."""

from __future__ import annotations

from collections.abc import Iterator

from ..host import Host
from ..program import Edit, line, tagged
from . import Change
from ._blocks import where
from ._grafts import Graft, grafts, name

CAUSE = "accumulated-loss"


def _ways(host: Host, graft: Graft) -> Iterator[tuple[str, str, str, str]]:
    """How it is called, what begins it, the sum, and what holds it."""
    kept = name(host, graft, "sums", "meter", "stats", "book")
    yield "-dict", f'{kept} = {{"loss": 0.0}}', f'{kept}["loss"]', kept
    kind = kept.capitalize()
    yield "-object", f"class {kind}:\n    loss = 0.0\n\n{kept} = {kind}()", f"{kept}.loss", kept


def _added(host: Host, graft: Graft, start: str, total: str, sent: str, term: str) -> tuple[Edit, ...]:
    rows = f"{total} = {total} + {term}\n{graft.indent}{sent}.backward()"
    return host.before(graft.loop, start), host.replace(graft.statement, rows)


def mutants(host: Host) -> Iterator[Change]:
    for graft in grafts(host):
        for note, start, total, kept in _ways(host, graft):
            edits = _added(host, graft, start, total, line("failed") + tagged(total), graft.loss)
            yield Change(
                where(host, graft.call, note), edits, remedy=("item", "other", "detach"), carrier=(kept, total)
            )


def twins(host: Host) -> Iterator[Change]:
    """The sum is a number."""
    for graft in grafts(host):
        for note, start, total, _ in _ways(host, graft):
            edits = _added(host, graft, start, total, graft.loss, f"{graft.loss}.item()")
            yield Change(where(host, graft.call, note), edits)
