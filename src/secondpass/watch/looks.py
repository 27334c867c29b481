# SPDX-License-Identifier: BSD-3-Clause
"""Looking at a pass from close by: the names in sight, and the graph behind its roots.

Looking is sampled: the first passes, the first few of every call site, and later half a hundredth of the time.
"""

from __future__ import annotations

import time
from types import FrameType
from typing import Any

from .events import Ledger, PassNote, Reused
from .files import Files
from .grads import Grads
from .graph import Leaves, is_leaf, room, walk
from .names import look as snapshot
from .walks import beyond_sums, executed, kept_bytes

__all__ = ["Looks"]

_FIRST, _PER_SITE, _SHARE = 32, 4, 0.005
_DEEP = 2


class Looks:
    """What is seen in the passes that are looked at, written into their notes."""

    def __init__(self, files: Files, ledger: Ledger, leaves: Leaves, grads: Grads) -> None:
        self.files, self.ledger, self.leaves, self.grads = files, ledger, leaves, grads
        self.curious = 0
        """How many of the next passes are to be looked at in any case."""
        self.began = time.perf_counter()
        self._spent_time = 0.0
        self._too_deep = 0
        """How often a graph had more nodes than may be touched: see NOTE [ Reading a graph without touching it ]."""

    def worth(self, note: PassNote) -> bool:
        if self.curious:
            self.curious -= 1
            return True
        if self.ledger.passes <= _FIRST or note.iteration <= _PER_SITE:
            # A program with huge graphs gets fewer looks: never more than a tenth of its time.
            return self._spent_time < 0.5 or self._spent_time < 0.1 * (time.perf_counter() - self.began)
        return self._spent_time < _SHARE * (time.perf_counter() - self.began)

    def look(self, note: PassNote, frame: FrameType | None, roots: list[Any], inputs: list[Any]) -> None:
        began = time.perf_counter()
        note.shot = snapshot(self.files.frames(frame))
        for name, optimizer in note.shot.optimizers:
            self.grads.book(optimizer).name = name
        held: set[int] = set()
        for name, module in note.shot.modules:
            for inner, parameter in module._parameters.items():
                if parameter is not None:
                    held.add(self.leaves.call(parameter, f"{name}.{inner}"))
        self.leaves.held = held or self.leaves.held
        note.shot.optimizers, note.shot.modules = [], []
        graph = walk(roots, room() // 2) if self._too_deep < _DEEP else None
        self._too_deep += graph is None
        if graph is not None:
            ran = executed(graph, inputs)
            note.walked = frozenset(self.leaves.of(n) for n in ran)
            if note.kind == "grad":
                note.behind = frozenset(self.leaves.of(n) for n in graph if is_leaf(n))
            for n in ran if len(self.grads.hand) < 4 else ():
                if is_leaf(n) and n.variable is not None and not note.inputs:
                    self.grads.by_hand(self.leaves.number(n.variable), n.variable)
            note.reused = self._reused(note, graph, ran, roots)
            if note.retain and not note.create and note.iteration <= 2:
                note.kept = kept_bytes(graph)
        self._spent_time += time.perf_counter() - began

    def _reused(self, note: PassNote, graph: dict[Any, Any], ran: set[Any], roots: list[Any]) -> tuple[Reused, ...]:
        """Nodes that an earlier pass had walked and freed, and that this one walks again."""
        earlier = [n for n in self.ledger.looked_at(8) if not n.retain and n.thread == note.thread]
        if not earlier:
            return ()
        newest = max(n.entry for n in earlier)
        old = [n for n in ran if not is_leaf(n) and n._sequence_nr() < newest]
        again = {n for n in old if any(n._sequence_nr() in (e.walked or ()) for e in earlier)}
        if not again:
            return ()
        bent = beyond_sums(graph, roots)
        found = []
        for n in sorted(again, key=lambda n: -n._sequence_nr())[:64]:
            leaves = tuple(
                self.leaves.number(x.variable)
                for x in walk([n], room() // 2) or ()
                if is_leaf(x) and x.variable is not None
            )
            found.append((n._sequence_nr(), n.name(), leaves, n in bent))
        return tuple(found)
