# SPDX-License-Identifier: BSD-3-Clause
"""Looking at a pass from close by: the names in sight, and the graph behind its roots.

Looking is sampled: the first passes, the first few of every call site, and later half a hundredth of the time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from types import FrameType
from typing import Any

from ..torchgraph import Leaves, edges, is_leaf, saved_bytes, touchable, walk, walked
from .bindings import Barren
from .bindings import look as snapshot
from .files import Files
from .gradients import Gradients, bits
from .ledger import Ledger, PassNote
from .reducers import Reducers
from .unregistered import unregistered

__all__ = ["LookTime", "Looks"]

_FIRST, _PER_SITE, _SHARE = 32, 8, 0.005  # of a site so many that what grows in each is seen to grow (facts.collected)
_SITES, _CROWDED = 100, 0.03
_SPREAD = 5 / 4
"""From one look to the next: what grows once an epoch of a short program is seen to, and a long one has some dozens more."""
_SHORT = 8
_DEEP = 2
_ASIDES = 8
_HEADS = 8
_MEASURED = (4, 8, 16)
_PROCESSORS = os.cpu_count() or 1


class LookTime:
    """How long looking has taken so far, of how much. Many short watches may share one."""

    def __init__(self, *, shared: bool = False) -> None:
        self.shared = shared
        self.spent = 0.0
        self._began = time.perf_counter()
        self._began_processor = time.process_time()
        self._not_before: dict[float, float] = {}
        """By share: when it is worth asking again how long the program has worked."""

    def skip(self, seconds: float) -> None:
        """So much of the program's time was spent while nobody watched: it does not count."""
        self._began += seconds
        self._began_processor += seconds

    def within(self, share: float) -> bool:
        """Whether looking took no more than this share of the program's time: of the clock's where it has several threads, of
        its own where others have the processor (or it waits)."""
        now = time.perf_counter()
        if now < self._not_before.get(share, 0.0) or self.spent >= share * (now - self._began):
            return False
        left = self.spent / share - (time.process_time() - self._began_processor)
        if left > 0:  # asked again when all processors together could have worked for so long
            self._not_before[share] = now + left / _PROCESSORS
        return left < 0


class Looks:
    """What is seen in the passes that are looked at, written into their notes."""

    barren = Barren()
    """One for all watches: those of a suite of tests are many, and the test runner is the same for all."""

    def __init__(self, files: Files, ledger: Ledger, leaves: Leaves, gradients: Gradients, reducers: Reducers) -> None:
        self.files, self.ledger, self.leaves, self.gradients = files, ledger, leaves, gradients
        self.reducers = reducers
        self.curious = 0
        """How many of the next passes are to be looked at in any case."""
        self._milestone = _FIRST * _SPREAD
        """Which pass is looked at next as long as the share of time is used up."""
        self.time = LookTime()
        """What looking has cost."""
        self.libraries: set[str] = set()
        """See `record.Trace`."""
        self._threads: set[int] = set()
        """Those that have made passes."""
        self._asides = 0
        """At how many passes it was looked what lies beside them."""
        self._too_deep = 0
        """How often a graph had more nodes than may be touched: see NOTE [ Reading a graph without touching it ]."""

    def worth(self, note: PassNote) -> bool:
        if self.curious:
            self.curious -= 1
            return True
        if self.time.shared and self.ledger.passes <= _SHORT:
            return True  # most tests make no more
        milestone = self.ledger.passes >= self._milestone
        if milestone:
            self._milestone = self.ledger.passes * _SPREAD
        if milestone or self.ledger.passes <= _FIRST or note.iteration <= _PER_SITE:
            # A program with huge graphs gets fewer looks: never more than a tenth of its time. Where passes are made in a
            # hundred places (a suite of tests), the first of each are no beginning of a training.
            share = 0.1 if len(self.ledger.pass_sites) <= _SITES and not self.time.shared else _CROWDED
            return self.time.spent < 0.5 or self.time.within(share)
        return self.time.within(_SHARE)

    def look(self, note: PassNote, frame: FrameType | None, outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
        began = time.thread_time()  # our own work: on a busy machine the clock goes on while others have the processor
        self._threads.add(note.thread)
        alone = len(self._threads) == 1
        bare = self.gradients.bare() if self._asides < _ASIDES else set()
        tensors: dict[str, Any] = {}
        note.shot = snapshot(
            self.files.frames(frame),
            tensors if bare else None,
            self.files.hosts(frame),
            self.files.is_own,
            measure=note.iteration in _MEASURED,
            alone=alone,
            barren=self.barren,
        )
        note.optimizers = {}
        for name, optimizer in note.shot.optimizers:
            book = self.gradients.book(optimizer)
            book.name = name or book.name
            note.optimizers[name] = book
        note.optimizers |= {name: self.gradients.book(o) for name, o in note.shot.players.items()}
        held: set[int] = set()
        for name, module in note.shot.modules:
            self.reducers.see(name, module)
            for inner, parameter in module._parameters.items():
                if parameter is not None:
                    held.add(self.leaves.call(parameter, f"{name}.{inner}"))
        apart = unregistered(note.shot.modules, self.leaves, self.files.is_own)
        self.leaves.unregistered = apart or self.leaves.unregistered
        owned = {n for book in self.gradients.books() for n in book.every}
        for name, leaf in note.shot.leaves:
            if (number := self.leaves.number(leaf)) in owned:
                held.add(self.leaves.call(leaf, name) if number not in held else number)
        self.leaves.held = held or self.leaves.held
        if bare:
            self.libraries = {n for n, m in note.shot.modules if len(m._modules) and self.files.is_library(type(m))}
        note.shot.optimizers, note.shot.modules, note.shot.leaves, note.shot.players = [], [], [], {}
        note.value = bits(outputs[0]) if len(outputs) == 1 else None
        roots = edges(outputs)
        graph = walk(roots, touchable() // 2) if self._too_deep < _DEEP else None
        self._too_deep += graph is None
        if graph is not None:
            ran = walked(graph, inputs)
            numbers = {n: self.leaves.of(n) for n in graph}
            ends = {self.leaves.behind(o) for o in outputs} if not graph else set()
            note.walked = frozenset(numbers[n] for n in ran) | ends
            note.heads = {numbers[n]: (n.name(), tuple([numbers[p] for p in graph[n]])) for n in _next_to(roots, graph)}
            if bare:
                self._asides += 1
                self._aside(note, tensors, bare)
            if note.kind == "grad":
                note.behind = frozenset(numbers[n] for n in graph if is_leaf(n))
            if not inputs:
                self.gradients.by_hand(n.variable for n in ran if is_leaf(n) and n.variable is not None)
            if self._met_before(note, ran):
                note.nodes = {
                    k: (n.name(), tuple([numbers[p] for p in graph[n]])) for n, k in numbers.items() if not is_leaf(n)
                }
            if note.retain and not note.create and note.iteration <= 2 and alone:
                note.kept = saved_bytes(graph)
        self.time.spent += time.thread_time() - began

    def _aside(self, note: PassNote, tensors: dict[str, Any], bare: set[int]) -> None:
        """What lies behind the names in sight that the pass does not walk to."""
        assert note.shot is not None
        walked, left = note.walked or frozenset(), touchable() // 4
        for seen in note.shot.names:
            tensor = tensors.get(seen.trail.spelled())
            if seen.number in walked or left <= 0 or tensor is None or tensor.grad_fn is None:
                continue
            graph = walk([tensor.grad_fn], left)
            if graph is None:
                return
            left -= len(graph)
            behind = {self.leaves.of(n) for n in graph if is_leaf(n)}
            seen.leaves = tuple(sorted((behind & bare) - walked))

    def _met_before(self, note: PassNote, ran: set[Any]) -> bool:
        """Whether some of the nodes were walked, and freed, by an earlier pass."""
        earlier = [n for n in self.ledger.looked_at(8) if not n.retain and n.thread == note.thread]
        if not earlier:
            return False
        newest = max(n.entry for n in earlier)
        old = [k for n in ran if not is_leaf(n) and (k := n._sequence_nr()) < newest]
        return any(k in (e.walked or ()) for k in old for e in earlier)


def _next_to(roots: Sequence[Any], graph: dict[Any, Any]) -> list[Any]:
    """The roots and what is next to them, nearest first."""
    found = dict.fromkeys(r for r in roots if r in graph)
    for node in (todo := list(found)):
        if len(found) >= _HEADS:
            break
        new = [p for p in graph[node] if p not in found and not is_leaf(p)]
        found.update(dict.fromkeys(new))
        todo += new
    return list(found)[:_HEADS]
