# SPDX-License-Identifier: BSD-3-Clause
"""From a watcher's notes to a Trace."""

from __future__ import annotations

import linecache
from typing import Any

from ..record import Cut, Failure, Holding, Node, Owner, Pass, Sighting, Step, Trace, Write
from .cuts import find_cuts
from .events import PassNote
from .failure import Graph
from .graph import buffers, is_leaf
from .timeline import Moment, Timeline
from .watcher import Watcher
from .writes import find_write

__all__ = ["build"]

_NODES = 20_000


def build(watcher: Watcher, graph: Graph | None = None, *, ended: bool = False) -> Trace:
    """The trace of everything seen so far; `graph` is that of a pass that has just failed."""
    return _Builder(watcher, graph).trace(ended)


class _Builder:
    def __init__(self, watcher: Watcher, graph: Graph | None) -> None:
        self.watcher, self.graph = watcher, graph
        self.notes = watcher.ledger.pass_notes()
        self.steps = watcher.ledger.step_notes()
        self.chosen = self._choose()
        self.positions: dict[Any, int] = {}
        log = watcher.log
        if log is not None:
            for node in self.chosen:
                if not is_leaf(node) and graph is not None and graph.number[node] < 1 << 41:
                    at = log.find(node._sequence_nr())
                    if at is not None:
                        self.positions[node] = at
            wanted = [*self.positions.values(), *(n.position - 1 for n in self.notes)]
            self.timeline: Timeline | None = Timeline(log, watcher.files, wanted)
        else:
            self.timeline = None

    def _choose(self) -> list[Any]:
        """The nodes worth telling of: all, or in a huge graph those near the roots, the failure and the border."""
        graph = self.graph
        if graph is None:
            return []
        if len(graph.nodes) <= _NODES:
            return list(graph.nodes)
        chosen = dict.fromkeys(list(graph.nodes)[:_NODES // 4])
        for node, parents in graph.nodes.items():
            if is_leaf(node) and len(chosen) < _NODES:
                chosen[node] = None
            elif not graph.spent[node] and any(graph.spent[p] for p in parents) and len(chosen) < _NODES:
                chosen.update(dict.fromkeys((node, *parents)))
        if graph.failing is not None:
            chosen[graph.failing] = None
        return list(chosen)

    def moment(self, position: int | None) -> Moment | None:
        return self.timeline.moments.get(position) if self.timeline is not None and position is not None else None

    # -- the parts ---------------------------------------------------------------------------------------------------

    def trace(self, ended: bool) -> Trace:
        passes = tuple(self._pass(n) for n in self.notes)
        nodes = self._nodes()
        writes, failures = self._writes_and_failures()
        trace = Trace(
            nodes=nodes,
            passes=passes,
            steps=tuple(self._step(n) for n in self.steps),
            sightings=tuple(self._sightings()),
            holdings=tuple(self._holdings()),
            writes=writes,
            cuts=self._cuts(),
            failures=failures,
            owners=tuple(self._owners()),
            ended=ended,
            producer="watch",
        )
        object.__setattr__(trace, "sources", self._sources(trace))
        return trace

    def _pass(self, note: PassNote) -> Pass:
        stack = self.watcher.files.places(note.key)
        moment = self.moment(note.position - 1)
        return Pass(
            when=note.when,
            kind=note.kind,
            roots=note.roots,
            inputs=note.inputs,
            retain=note.retain,
            create=note.create,
            place=stack[0] if stack else None,
            stack=stack,
            walked=note.walked,
            outcome=note.outcome,
            kept_bytes=note.kept,
            iteration=note.iteration,
            loops=moment.loops if moment is not None else None,
            nested=note.nested,
        )

    def _step(self, note: Any) -> Step:
        stack = self.watcher.files.places(note.key)
        return Step(
            when=note.when,
            optimizer=self._optimizer_name(note.book),
            leaves=note.book.every,
            place=stack[0] if stack else None,
            empty=note.empty,
            stale=note.stale,
            piled=note.piled,
            iteration=note.iteration,
            inside=note.inside,
        )

    def _optimizer_name(self, book: Any) -> str:
        return next((name for name, b in self._named_books() if b is book), "")

    def _named_books(self) -> list[tuple[str, Any]]:
        names: dict[int, str] = {}
        for note in self.notes:
            for name, ident in note.shot.optimizers if note.shot is not None else ():
                names.setdefault(ident, name)
        return [(names.get(id(o), type(o).__name__), book) for o, book in self.watcher.grads.books()]

    def _owners(self) -> list[Owner]:
        return [Owner(name, book.every) for name, book in self._named_books()]

    def _sightings(self) -> list[Sighting]:
        found = []
        shots = [(n.when, n.shot) for n in self.notes if n.shot is not None]
        if self.graph is not None:
            shots = [(w, s) for w, s in shots if w != self.graph.failed.note.when]
            shots.append((self.graph.failed.note.when, self.graph.shot))
        for when, shot in shots:
            found += [Sighting(when, s.name, s.kind, s.number, s.spent, s.function) for s in shot.names]
        return found

    def _holdings(self) -> list[Holding]:
        return [
            Holding(n.when, h.name, h.kind, h.count, h.chain, h.oldest)
            for n in self.notes
            if n.shot is not None
            for h in n.shot.holders
        ]

    def _when(self, number: int) -> int:
        """The last event before a node was built."""
        best = -1
        for note in self.notes:
            if note.entry <= number and note.thread == self._thread():
                best = max(best, note.when)
        for step in self.steps:
            if step.mark <= number:
                best = max(best, step.when)
        return best

    def _thread(self) -> int:
        return self.graph.failed.note.thread if self.graph is not None else 0

    def _nodes(self) -> dict[int, Node]:
        graph = self.graph
        if graph is None:
            return {}
        chosen = set(self.chosen)
        names = _leaf_names(graph)
        found = {}
        for node in self.chosen:
            number = graph.number[node]
            if is_leaf(node):
                found[number] = Node(number, "AccumulateGrad", (), (), leaf=names.get(number, ""))
                continue
            moment = self.moment(self.positions.get(node))
            own = number < 1 << 41
            stack = moment.stack if moment is not None else ()
            found[number] = Node(
                number=number,
                op=node.name(),
                parents=tuple(graph.number[p] for p in graph.nodes[node] if p in chosen),
                saved=tuple(name for name, _ in buffers(node)) or None,
                place=stack[0] if stack else None,
                stack=stack,
                when=self._when(number) if own else None,
                spent=graph.spent[node],
                loops=moment.loops if moment is not None else None,
            )
        return found

    def _writes_and_failures(self) -> tuple[tuple[Write, ...], tuple[Failure, ...]]:
        known = tuple(self.watcher.failures)
        graph = self.graph
        if graph is None:
            return (), known
        failed = graph.failed
        stack = self.watcher.files.places(failed.note.key)
        write, leaf, names = find_write(graph) if failed.kind == "inplace" else (None, None, [])
        failure = Failure(
            when=failed.note.when,
            kind=failed.kind,
            message=str(failed.error),
            node=graph.number.get(graph.failing) if graph.failing is not None else None,
            place=stack[0] if stack else None,
            stack=stack,
            saved=graph.buffer,
            leaf=leaf,
            names=tuple(names),
        )
        return (write,) if write is not None else (), (*known, failure)

    def _cuts(self) -> tuple[Cut, ...]:
        graph, log = self.graph, self.watcher.log
        if graph is None or log is None or graph.failed.kind != "no-grad":
            return ()
        note = graph.failed.note
        before = [n.position for n in self.notes if n.when < note.when]
        return tuple(find_cuts(log, self.watcher.files, note, max(before, default=0), note.entry))

    def _sources(self, trace: Trace) -> dict[str, str]:
        files: set[str] = set()
        for event in (*trace.passes, *trace.steps):
            files.update(p.file for p in getattr(event, "stack", ()) or ())
            if event.place is not None:
                files.add(event.place.file)
        for node in trace.nodes.values():
            files.update(p.file for p in node.stack)
        for event in (*trace.writes, *trace.cuts):
            if event.place is not None:
                files.add(event.place.file)
        for failure in trace.failures:
            files.update(p.file for p in failure.stack)
        return {f: text for f in files if (text := "".join(linecache.getlines(f)))}


def _leaf_names(graph: Graph) -> dict[int, str]:
    names: dict[int, str] = {}
    for name, module in graph.shot.modules:
        for inner, parameter in module._parameters.items():
            if parameter is not None:
                number = graph.watcher.leaves.number(parameter)
                full = f"{name}.{inner}"
                if number not in names or len(full) < len(names[number]):
                    names[number] = full
    for name, tensor in graph.tensors.items():
        if tensor.requires_grad and tensor.is_leaf:
            names.setdefault(graph.watcher.leaves.number(tensor), name)
    return names


