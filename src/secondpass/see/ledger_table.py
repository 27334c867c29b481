# SPDX-License-Identifier: BSD-3-Clause
"""Ledgers for people: as a table of rich's, as plain text, and as HTML without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from .ledger_rows import Groups, Ledger, Row, size

__all__ = ["html", "plain", "table"]

_MOST = 20
_WIDTH = 120
_STYLE = "border-collapse:collapse;font-family:monospace"
_CELL = "padding:1px 8px;text-align:"


def table(of: Ledger | Groups) -> Any:
    """A table for rich's consoles. Title and notes are as wide as the console: a table may be narrower."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    title, heads, rows, notes = _content(of)
    made = Table(box=None, pad_edge=False)
    for head, right in heads:
        made.add_column(
            head, justify="right" if right else "left", overflow="fold", style="bold" if head == "bytes" else ""
        )
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return Group(Text(title, "bold"), *[made] * bool(rows), *(Text(note, "dim") for note in notes))


def plain(of: Ledger | Groups) -> str:
    """The table as text, without colour."""
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    Console(file=out, width=_WIDTH, color_system=None, force_terminal=False, force_jupyter=False).print(table(of))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def html(of: Ledger | Groups) -> str:
    """The table for notebooks."""
    title, heads, rows, notes = _content(of)
    ways = ["right" if right else "left" for _, right in heads]
    made = [f"<table style='{_STYLE}'><caption style='text-align:left;font-weight:bold'>{escape(title)}</caption>"]
    cells = "".join(f"<th style='{_CELL}{way}'>{escape(head)}</th>" for (head, _), way in zip(heads, ways, strict=True))
    made.append(f"<thead><tr>{cells}</tr></thead><tbody>")
    for row in rows:
        cells = "".join(f"<td style='{_CELL}{way}'>{escape(cell)}</td>" for cell, way in zip(row, ways, strict=True))
        made.append(f"<tr>{cells}</tr>")
    made.append("</tbody></table>")
    made += [f"<p style='opacity:.7;margin:2px 8px'>{escape(note)}</p>" for note in notes]
    return "".join(made)


Content = tuple[str, list[tuple[str, bool]], list[list[str]], list[str]]
"""Title, heads (with whether they stand right), rows, notes."""


def _content(of: Ledger | Groups) -> Content:
    return _of_ledger(of) if isinstance(of, Ledger) else _of_groups(of)


def _of_ledger(ledger: Ledger) -> Content:
    alive = [r for r in ledger.rows if r.state == "alive" and r.kind == "saved"]
    columns: list[tuple[str, bool, Any]] = [
        ("bytes", True, lambda r: size(r.bytes) if r.bytes or r.region is None else "not here"),
        ("tensor", False, lambda r: f"{r.dtype}[{', '.join(map(str, r.shape))}]" if r.dtype else ""),
        ("saved by", False, lambda r: f"{r.op} {r.slot.removeprefix('_saved_')}"),
        ("line", False, lambda r: f"{r.place.file}:{r.place.line}" if r.place else ""),
        ("module", False, lambda r: r.module or ""),
        ("iteration", True, lambda r: ".".join(map(str, r.iteration)) if r.iteration else ""),
        ("held by", False, lambda r: r.holder or ""),
        ("region", False, lambda r: r.region or ""),
    ]
    devices = {r.device for r in alive if r.device}
    if len(devices) > 1:
        columns.append(("device", False, lambda r: r.device))
    shown = _order(alive)[:_MOST]
    cells = [[of(r) for _, _, of in columns] for r in shown]
    used = [k for k in range(len(columns)) if k < 3 or any(row[k] for row in cells)]
    title = f"{size(ledger.total)} of saved tensors"
    if len(devices) == 1:
        title += f" on {next(iter(devices))}"
    return (
        title,
        [columns[k][:2] for k in used],
        [[row[k] for k in used] for row in cells],
        _notes(ledger, alive, len(shown)),
    )


def _order(rows: Sequence[Row]) -> list[Row]:
    """As the ledger has them, where somebody has sorted it; else the largest first."""
    numbers = [r.number for r in rows]
    return sorted(rows, key=lambda r: -r.bytes) if numbers == sorted(numbers) else list(rows)


def _notes(ledger: Ledger, alive: list[Row], shown: int) -> list[str]:
    notes = []
    if len(alive) > shown:
        notes.append(f"... and {len(alive) - shown} more: `.rows` has all")
    for kind in ("parameter", "buffer", "input"):
        rows = [r for r in ledger.rows if r.kind == kind]
        if rows:
            many = f"{kind} that lives" if len(rows) == 1 else f"{kind}s that live"
            notes.append(f"not counted: {len(rows)} {many} elsewhere ({size(sum(r.bytes for r in rows))})")
    freed = {r.number: r for r in ledger.rows if r.state == "freed"}
    if freed:
        by = sorted({r.freed_by for r in freed.values() if r.freed_by is not None})
        which = f" by pass {', '.join(map(str, by[:3]))}" if by else ""
        many = "1 node" if len(freed) == 1 else f"{len(freed)} nodes"
        notes.append(f"the saved tensors of {many} were freed{which}: a pass over them would fail")
    empty = {r.region for r in alive if r.region in ("checkpoint", "keep", "hooks") and not r.bytes}
    words = {
        "checkpoint": "checkpointed: computed again when a pass comes",
        "keep": "kept: computed again, or read back, when a pass comes",
        "hooks": "packed by hooks into something that is no tensor: what that takes is not known",
    }
    notes += [f"not here: {words[str(region)]}" for region in sorted(map(str, empty))]
    return [*notes, *ledger.notes]


def _of_groups(groups: Groups) -> Content:
    rows = [
        [
            size(g.bytes),
            f"{100 * g.bytes / groups.total:.0f}%" if groups.total else "",
            str(g.count),
            "(not known)" if g.name is None else g.name,
        ]
        for g in groups.groups[:_MOST]
    ]
    more = [f"... and {len(groups) - _MOST} more"] if len(groups) > _MOST else []
    heads = [("bytes", True), ("share", True), ("tensors", True), (groups.key, False)]
    return f"{size(groups.total)} of saved tensors by {groups.key}", heads, rows, more
