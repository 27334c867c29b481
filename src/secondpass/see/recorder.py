# SPDX-License-Identifier: BSD-3-Clause
"""Ledgers taken while a program runs: before and after the first passes, a sample of the later ones, and at a failure.

NOTE [ What a recorder keeps ]
Numbers and names. Of every sample the saved bytes by line, module, operation and holder; of the first, the largest and the
last one its rows as well. Everything of the user's is let go before the pass goes on.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ..record import Place
from ..torchgraph import is_leaf
from ..watcher.failure import Failed
from ..watcher.ledger import PassNote
from ..watcher.watcher import Watcher
from .modules import Modules
from .node_origin import Entry, Origin
from .outdated import Outdated
from .read_graph import Reading, without_collection

__all__ = ["Recorder", "Sample"]

_SHARE = 0.05
_SAMPLES = 400
_ROWS = 20_000
_TIMES = 512

Part = tuple[Place | None, str | None, str, str | None, bool]
"""Line, module, operation, holder, and whether it is outdated: see NOTE [ What no later pass can need ] of `outdated`."""


class Sample:
    """What was saved at one moment."""

    __slots__ = ("after", "parts", "retained", "total", "when")

    def __init__(self, note: PassNote, after: bool, reading: Reading, watcher: Watcher) -> None:
        self.when, self.after = note.when, after
        origin, outdated = Origin(watcher), Outdated(watcher, reading)
        walked = note.walked or () if after and note.retain else ()
        self.parts: Counter[Part] = Counter()
        self.retained = 0
        """What the pass before it walked and was asked to keep."""
        for e in reading.entries:
            if e.kind == "saved" and e.bytes:
                module = origin.module(e.number) or e.owner
                self.parts[origin.place(e.number), module, e.op, e.holder, outdated(e.number)] += e.bytes
                self.retained += e.bytes * (e.number in walked)
        self.total = sum(self.parts.values())


class Recorder:
    """Takes ledgers through a watcher's eyes, from `start` to `stop`."""

    def __init__(self, watcher: Watcher, steps: int) -> None:
        self.watcher, self.steps = watcher, steps
        self.samples: list[Sample] = []
        self.rows: dict[tuple[int, str], tuple[int, Entry]] = {}
        """Every saved tensor that was seen, by its node and its name there: when it was first seen, and as it was last seen."""
        self.freed_by: dict[tuple[int, str], int | None] = {}
        """The pass that freed each; None where nothing led to it any more."""
        self.retained: dict[int, int] = {}
        """Roots of graphs that a pass was asked to keep, and that pass, as long as they are seen to be alive."""
        self.dropped: dict[int, Sample] = {}
        """By that pass: the first sample at which they were gone."""
        self.bytes_before: dict[int, int] = {}
        """By pass: what was saved behind its own roots when it began."""
        self.graph: tuple[int, list[tuple[int, str, tuple[int, ...]]]] | None = None
        """The last pass whose graph was read, and its nodes: number, operation, parents."""
        self.times: dict[int, tuple[float, float]] = {}
        """When events began and ended, in seconds since the start, by their `when`."""
        self.began = time.perf_counter()
        self._spent = 0.0
        self._before: dict[tuple[int, str], Entry] = {}
        self._sampled: int | None = None
        self._step: int | None = None
        self._handles: list[Any] = []

    def start(self) -> None:
        watcher = self.watcher
        watcher.modules = Modules(watcher.files)
        watcher.modules.start()
        on_pass, on_failure = watcher.on_pass, watcher.on_failure

        def passing(note: PassNote, outputs: Any, gradients: Any) -> None:
            if on_pass is not None:
                on_pass(note, outputs, gradients)
            self._begins(note, outputs)

        def failing(failed: Failed, error: BaseException) -> None:
            self._fails(failed)
            if on_failure is not None:
                on_failure(failed, error)

        watcher.on_pass, watcher.on_left, watcher.on_failure, watcher.brief = passing, self._ends, failing, False
        self._handles = [
            register_optimizer_step_pre_hook(self._step_begins),
            register_optimizer_step_post_hook(self._step_ends),
        ]

    def stop(self) -> None:
        if self.watcher.modules is not None:
            self.watcher.modules.stop()
        for handle in self._handles:
            handle.remove()
        self._handles = []

    # -- events ------------------------------------------------------------------------------------------------------

    def _begins(self, note: PassNote, outputs: Any) -> None:
        if not note.nested and self._worth(note):
            self._sampled = note.when
            self._sample(note, False, outputs)
        if len(self.times) > 4 * _TIMES:  # as the watcher keeps the first events and the last ones
            for when in list(self.times)[_TIMES : 3 * _TIMES]:
                del self.times[when]
        self.times[note.when] = (self._now(), self._now())  # our own time is not the pass's

    def _ends(self, note: PassNote) -> None:
        self._over(note.when)
        if self._sampled == note.when:
            self._sample(note, True, None)
            self._sampled = None
        if note.retain and len(self.retained) + len(self.dropped) < 4 * _TIMES:
            self.retained.update(dict.fromkeys(note.roots, note.when))

    def _fails(self, failed: Failed) -> None:
        self._over(failed.note.when)
        self._sample(failed.note, True, None)
        self._sampled = None

    def _over(self, when: int) -> None:
        now = self._now()
        self.times[when] = (self.times.get(when, (now, now))[0], now)

    def _step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        step = self.watcher.thread.step
        self._step = step.when if step is not None else None
        if self._step is not None:
            self.times[self._step] = (self._now(), self._now())

    def _step_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._step in self.times:
            self.times[self._step] = (self.times[self._step][0], self._now())
        self._step = None

    def _now(self) -> float:
        return time.perf_counter() - self.began

    def _worth(self, note: PassNote) -> bool:
        if note.iteration <= self.steps and len(self.samples) < _SAMPLES:
            return True
        if note.iteration & (note.iteration - 1) == 0:
            return True  # and ever more rarely, whatever it costs
        return self._spent < _SHARE * self._now() and len(self.samples) < 2 * _SAMPLES

    # -- samples -----------------------------------------------------------------------------------------------------

    def _sample(self, note: PassNote, after: bool, outputs: Any) -> None:
        began = time.perf_counter()
        files = self.watcher.files
        with torch._C.DisableTorchFunction(), without_collection():
            reading = Reading(None, files.frames(sys._getframe()), self.watcher, files.hosts(sys._getframe()))
        sample = Sample(note, after, reading, self.watcher)
        self._follow(sample, reading)
        if outputs is not None:
            self._own(note.when, outputs, reading)
        del reading
        self.samples.append(sample)
        if len(self.samples) > _SAMPLES:
            # The first half of a long run is thinned out.
            self.samples[2 * self.steps : _SAMPLES // 2] = self.samples[2 * self.steps : _SAMPLES // 2 : 2]
        self._spent += time.perf_counter() - began

    def _follow(self, sample: Sample, reading: Reading) -> None:
        if self.retained and reading.complete:
            for root in self.retained.keys() - {n._sequence_nr() for n in reading.graph if not is_leaf(n)}:
                self.dropped[self.retained.pop(root)] = sample
        now = {(e.number, e.slot): e for e in reading.entries if e.state == "alive"}
        for key in self._before.keys() - now.keys():
            self.freed_by.setdefault(key, sample.when if sample.after else None)
        self._before = now
        for key, entry in now.items():
            if key in self.rows:
                self.rows[key] = (self.rows[key][0], entry)
                self.freed_by.pop(key, None)
            elif len(self.rows) < _ROWS:
                self.rows[key] = (sample.when, entry)

    def _own(self, when: int, outputs: Any, reading: Reading) -> None:
        """The graph of the pass itself."""
        roots = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
        todo = [n for r in roots if (n := getattr(r, "grad_fn", None) or getattr(r, "node", None)) in reading.graph]
        own: dict[Any, None] = {}
        while todo:
            node = todo.pop()
            if node not in own:
                own[node] = None
                todo.extend(p for p in reading.graph.get(node, ()) if p in reading.graph)
        number = {n: self.watcher.leaves.of(n) for n in own}
        self.graph = (
            when,
            [(k, "AccumulateGrad" if is_leaf(n) else n.name(), tuple(number[p] for p in reading.graph[n] if p in number))
             for n, k in number.items()],
        )  # fmt: skip
        numbers = set(number.values())
        self.bytes_before[when] = sum(e.bytes for e in reading.entries if e.kind == "saved" and e.number in numbers)
