# SPDX-License-Identifier: BSD-3-Clause
"""From a watcher's notes to a Trace."""

from __future__ import annotations

import linecache
from typing import Any

from ..record import Cut, Failure, Holding, Node, Owner, Pass, Place, Sighting, Step, Trace, Write, ZeroGrad
from .cuts import find_cuts
from .events import PassNote
from .failure import Graph
from .graph import buffers, is_leaf
from .timeline import Moment, Timeline
from .unwalked import find_collected
from .watcher import Watcher
from .writes import find_write

__all__ = ["build"]

_NODES = 20_000
_RECENT = 6
_FAR = 20_000


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
            # Nodes that other threads build have no line: see NOTE [ Reading the log ].
            for node in self.chosen if graph is not None and graph.failed.note.in_main_thread else ():
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
        chosen = dict.fromkeys(list(graph.nodes)[: _NODES // 4])
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
            # Without a failure only gradients are judged by steps: those that were not followed say nothing.
            steps=tuple(self._step(n) for n in self.steps if n.followed or self.graph is not None),
            sightings=tuple(self._sightings()),
            holdings=(*self._holdings(), *(self._unwalked() if ended else ())),
            writes=writes,
            cuts=self._cuts(),
            failures=failures,
            zero_grads=tuple(self._zero_grads()) if self.graph is None else (),
            owners=tuple(self._owners()),
            called=self._called() if self.graph is None else None,
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
            behind=note.behind,
            outcome=note.outcome,
            kept_bytes=note.kept,
            iteration=note.iteration or None,
            loops=moment.loops if moment is not None else None,
            nested=note.nested,
            wasted=note.wasted if note.followed else None,
        )

    def _step(self, note: Any) -> Step:
        stack = self.watcher.files.places(note.key)
        return Step(
            when=note.when,
            optimizer=note.book.name if note.book is not None else "",
            leaves=note.book.every if note.book is not None else note.hand,
            place=stack[0] if stack else None,
            empty=note.empty,
            stale=note.stale,
            piled=(note.within if note.again > 1 else ()) if note.inside else note.piled,
            iteration=note.iteration,
            inside=note.inside,
            # When within the stretch between two passes a step by hand was made is not known.
            number=note.mark if note.book is not None else None,
        )

    def _zero_grads(self) -> list[ZeroGrad]:
        """Where gradients were cleared between a pass and a step that then found none."""
        log, found = self.watcher.log, []
        if log is None:
            return []
        for step in [s for s in self.steps if s.empty][:8]:
            before = [n.position for n in self.notes if n.when < step.when]
            for _, statement in log.between(max(before, default=0), step.position):
                text = linecache.getline(statement.file, statement.line)
                if "zero_grad" in text or ".grad = None" in text or "grad.zero_" in text or "grad.data.zero_" in text:
                    place = Place(self.watcher.files.show(statement.file), statement.line, statement.function)
                    found.append(ZeroGrad(step.when, step.book.name, step.book.every, place))
        return found

    def _called(self) -> tuple[Place, ...] | None:
        """The statements that ran around the first passes."""
        log = self.watcher.log
        if log is None or log.dropped or not self.notes:
            return None
        last = self.notes[min(len(self.notes), 8) - 1].position
        seen = dict.fromkeys(s for _, s in log.between(0, last))
        return tuple(Place(self.watcher.files.show(s.file), s.line, s.function) for s in seen)

    def _owners(self) -> list[Owner]:
        held, names = self.watcher.leaves.held, self.watcher.leaves.names
        now = {names.get(n) for n in held}
        found = []
        for b in self.watcher.grads.books():
            never = tuple(b.never) if b.followed_steps > 1 else ()
            orphans = tuple(n for n in never if n not in held)
            # What it was called is another's name now.
            left = tuple(n for n in b.every if n not in held and n in names and names[n] in now) if b.dry > 2 else ()
            found.append(Owner(b.name, b.every, never, orphans, b.steps, b.first, left=left))
        return found

    def _sightings(self) -> list[Sighting]:
        found = []
        shots = [(n.when, n.shot) for n in self.notes if n.shot is not None]
        if self.graph is not None:
            shots = [(w, s) for w, s in shots if w != self.graph.failed.note.when]
            shots.append((self.graph.failed.note.when, self.graph.shot))
            found += self._by_offset()
        for when, shot in shots:
            found += [Sighting(when, s.name, s.kind, s.number, s.spent, s.function) for s in shot.names]
        return found

    def _by_offset(self) -> list[Sighting]:
        """Names at the last passes that were not looked at. In a steady loop a name's node is always equally far
        from the
        pass, so an earlier look at the same call site tells which name was where."""
        found = []
        looked = {n.key: n for n in self.notes if n.shot is not None}
        for note in [n for n in self.notes[-_RECENT:] if n.shot is None and n.key in looked]:
            like = looked[note.key]
            for seen in like.shot.names if like.shot is not None else ():
                number = note.entry - (like.entry - seen.number)
                found.append(Sighting(note.when, seen.name, seen.kind, number, None, seen.function))
        return found

    def _holdings(self) -> list[Holding]:
        found = []
        running: dict[str, tuple[int, int]] = {}
        for note in self.notes:
            if note.shot is None:
                continue
            for h in note.shot.holders:
                held = Holding(note.when, h.name, h.kind, h.count, h.chain, h.oldest, h.nodes, h.bytes, single=h.single)
                found.append(held)
            for seen in note.shot.names:
                # A sum that was built from what the same name held before: its history grows.
                last, length = running.get(seen.name, (-1, 0))
                if seen.number != last:
                    length = length + 1 if last in seen.parents else 0
                    running[seen.name] = (seen.number, length)
                    if length:
                        held = Holding(note.when, seen.name, "running", length, (seen.name,), single=seen.single)
                        found.append(held)
        return found

    def _unwalked(self) -> list[Holding]:
        """What was collected between passes and never walked: only worth asking when all is over."""
        log = self.watcher.log
        if log is None or self.graph is not None:
            return []
        here = [n for n in self.notes if n.in_main_thread]
        return [
            Holding(
                c.when,
                c.name,
                "unwalked sum" if c.running else "unwalked",
                c.count,
                (c.name,),
                nodes=c.nodes,
                place=c.place,
            )
            for c in find_collected(log, self.watcher.files, here)
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
        found = {n: Node(n, "AccumulateGrad", (), (), leaf=name) for n, name in self.watcher.leaves.names.items()}
        if graph is None:
            return found | self._reused()
        chosen = set(self.chosen)
        names = _leaf_names(graph)
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

    def _reused(self) -> dict[int, Node]:
        """The nodes that passes walked again without an error."""
        found = {}
        log = self.watcher.log
        for note in self.notes:
            for number, op, leaves, bent in note.reused:
                at = log.find(number) if log is not None else None
                stack = (
                    tuple(self.timeline.place(s) for s, _ in log.stack(at))
                    if log and self.timeline and at is not None
                    else ()
                )
                known = found.get(number)
                found[number] = Node(
                    number, op, leaves, place=stack[0] if stack else None, stack=stack, spent=True,
                    bent=bent or bool(known and known.bent),
                )  # fmt: skip
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
        if graph is not None and not graph.failed.note.in_main_thread:
            return ()
        if graph is None and log is not None:
            # A root without history that was made to require a gradient by itself.
            bare = next(
                (n for n in self.notes if n.roots and max(n.roots) < 0 and n.kind == "backward" and not n.nested), None
            )
            return self._cuts_before(bare) if bare is not None and bare.position >= log.dropped else ()
        if graph is None or log is None or graph.failed.kind != "no-grad":
            return ()
        return self._cuts_before(graph.failed.note)

    def _cuts_before(self, note: PassNote) -> tuple[Cut, ...]:
        log = self.watcher.log
        if log is None:
            return ()
        earlier = [n for n in self.notes if n.when < note.when]
        # A gradient that was taken on the way (`grad`) does not end an iteration.
        since = max((n.position for n in earlier if n.kind == "backward"), default=0)
        if note.position - since > _FAR:
            since = max(n.position for n in earlier) if earlier else 0
        return tuple(find_cuts(log, self.watcher.files, note, since, note.entry, self._all_frozen()))

    def _all_frozen(self) -> bool:
        """Whether no parameter of any optimizer in sight requires a gradient."""
        owned = [
            p
            for _, o in (self.graph.shot.optimizers if self.graph else ())
            for g in o.param_groups
            for p in g["params"]
        ]
        return bool(owned) and not any(p.requires_grad for p in owned)

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
        if self.watcher.log is not None and self.graph is None:
            files.update(self.watcher.files.show(f) for f in {s.file for s in self.watcher.log.statements})
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
