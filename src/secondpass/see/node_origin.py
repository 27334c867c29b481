# SPDX-License-Identifier: BSD-3-Clause
"""What is read of a graph, and where it comes from: line, module, iteration, and the pass that freed it, from what a watcher has noted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from typing import Any

from ..record import Place
from ..watcher.log import END, ENTRY, Log, Statement
from ..watcher.watcher import Watcher
from .ledger_rows import Row

__all__ = ["Entry", "Origin"]

_BACK = 50_000


class Entry:
    """One memory while a graph is being read: numbers and names, no tensor."""

    __slots__ = (
        "bytes", "device", "dtype", "holder", "kind", "number", "op", "owner", "region", "shape", "shared", "slot", "state"
    )  # fmt: skip

    def __init__(self, number: int, op: str, slot: str, region: str | None) -> None:
        self.number, self.op, self.slot, self.region = number, op, slot, region
        self.bytes = self.shared = 0
        self.kind, self.state, self.dtype, self.device = "saved", "alive", "", ""
        self.shape: tuple[int, ...] = ()
        self.holder: str | None = None
        self.owner: str | None = None
        """The module whose parameters the node consumes, where nothing better tells the module."""


class Origin:
    """Answers by a node's number. Numbers are those of the main thread: see NOTE [ Reading the log ]."""

    def __init__(self, watcher: Watcher | None) -> None:
        self.watcher = watcher
        self.notes = watcher.ledger.pass_notes() if watcher is not None else []
        here = [n for n in self.notes if n.in_main_thread]
        self._entries = [n.entry for n in here]
        self._iterations = [n.iteration for n in here]
        self._place_at = cache(self._statement_place)

    def place(self, number: int) -> Place | None:
        """The user's line that built a node."""
        if self.watcher is None or self.watcher.log is None or number < 0:
            return None
        at = self.watcher.log.find(number)
        return self._place_at(at) if at is not None else None

    def _statement_place(self, at: int) -> Place | None:
        assert self.watcher is not None
        assert self.watcher.log is not None
        statement = _innermost(self.watcher.log, at)
        if statement is None:
            return None
        return Place(self.watcher.files.show(statement.file), statement.line, statement.function)

    def module(self, number: int) -> str | None:
        """The module that was running when a node was built, while `see` records them."""
        modules = getattr(self.watcher, "modules", None)
        found: str | None = modules.path(number) if modules is not None and number >= 0 else None
        return found

    def iteration(self, number: int) -> tuple[int, ...] | None:
        """The iteration that a node was built in: that of the first pass after it, which is not known before there is one."""
        if number < 0:
            return None
        at = bisect_right(self._entries, number)
        return (self._iterations[at],) if at < len(self._iterations) else None

    def freed_by(self, number: int) -> int | None:
        """The first pass that is known to have walked and freed a node."""
        for k, note in enumerate(self.notes, 1):
            if not note.retain and note.walked is not None and number in note.walked:
                return k
        return None

    def rows(self, entries: Iterable[Entry]) -> list[Row]:
        """Entries become rows."""
        found = []
        for e in entries:
            found.append(
                Row(
                    bytes=e.bytes,
                    kind=e.kind,  # type: ignore[arg-type]
                    dtype=e.dtype,
                    shape=e.shape,
                    device=e.device,
                    op=e.op,
                    slot=e.slot,
                    number=e.number,
                    shared=e.shared,
                    place=self.place(e.number),
                    module=self.module(e.number) or e.owner,
                    iteration=self.iteration(e.number),
                    state=e.state,  # type: ignore[arg-type]
                    freed_by=self.freed_by(e.number) if e.state == "freed" else None,
                    holder=e.holder,
                    region=e.region,
                )
            )
        return found


def _innermost(log: Log, position: int) -> Statement | None:
    """The statement under way at a mark: calls that have ended are skipped."""
    depth, at = 0, position - log.dropped
    stop = max(-1, at - _BACK)
    while at > stop:
        statement: Any = log.statements[log.marks[at] & 0xFFFFFF]
        if statement.kind == END:
            depth += 1
        elif statement.kind == ENTRY:
            depth -= depth > 0
        elif not depth:
            return statement  # type: ignore[no-any-return]
        at -= 1
    return None
