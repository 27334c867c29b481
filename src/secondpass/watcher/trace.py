# SPDX-License-Identifier: BSD-3-Clause
"""From a watcher's notes to a Trace."""

from __future__ import annotations

import linecache
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from statistics import median_low
from typing import Any

from ..record import (
    Binding,
    Clear,
    Cut,
    Failure,
    Forward,
    Holding,
    Node,
    Owner,
    Parallel,
    Pass,
    Place,
    Step,
    Stretch,
    Switch,
    Trace,
    Write,
)
from ..record.place import CELL
from ..source import clears_gradients, parsed, switches_recording
from ..torchgraph import is_leaf, saved_tensors
from .bindings import Snapshot
from .executed import executed
from .failure import Graph
from .files import pairs_of
from .ledger import PassNote, StepNote
from .log import ENTER, MARK
from .parameter_names import paths_to
from .rank import rank
from .timeline import Moment, Timeline
from .watcher import Watcher
from .writes import find_writes

__all__ = ["build"]

_NODES = 20_000
_RECENT = 6
_FAR = 20_000
_LIVE = 200
_ENOUGH, _STRETCHES = 8, 4
_WINDOW = 12
_MAKERS = 32
_OWN = 1 << 41
"""Nodes of other threads get numbers from here on: see `failure`."""


def build(watcher: Watcher, graph: Graph | None = None, *, ended: bool = False) -> Trace:
    """The trace of everything seen so far; `graph` is that of a pass that has just failed."""
    return _Builder(watcher, graph).trace(ended)


class _Builder:
    def __init__(self, watcher: Watcher, graph: Graph | None) -> None:
        self.watcher, self.graph = watcher, graph
        self.notes = watcher.ledger.pass_notes()
        self.steps = watcher.ledger.step_notes()
        self.books = {id(book): k for k, book in enumerate(watcher.gradients.books())}
        """Which of the owners each book of an optimizer tells of."""
        self.chosen = self._choose()
        self.positions: dict[Any, int] = {}
        self.again: dict[int, int] = {}
        """The positions of nodes that were walked, and freed, before the pass that walked them."""
        self.makers = dict([n.maker for n in self.notes if n.maker is not None][-_MAKERS:])
        """The operations of nodes that made passes within passes, by their numbers."""
        self.made: dict[int, int] = {}
        """Their positions."""
        log = watcher.log
        self.whole = self._is_whole()
        self.timeline: Timeline | None = None
        if log is not None:
            # Nodes that other threads build have no line: see NOTE [ Reading the log ].
            for node in self.chosen if graph is not None and graph.failed.note.in_main_thread else ():
                if not is_leaf(node) and graph is not None and graph.number[node] < _OWN:
                    at = log.find(node._sequence_nr())
                    if at is not None:
                        self.positions[node] = at
            passes = [n.position - 1 for n in self.notes]
            for note in self.notes if graph is None else ():
                for number in note.nodes or () if note.in_main_thread else ():
                    at = log.find(number)
                    if at is not None:
                        self.again[number] = at
            if all(n.in_main_thread for n in self.notes if not n.nested):
                self.made = {k: at for k in self.makers if (at := log.find(k)) is not None}
            wanted = [*passes, *self.again.values(), *self.made.values()]
            self.timeline = Timeline(log, watcher.files, self.positions.values(), wanted, log.position())

    def _choose(self) -> list[Any]:
        """The nodes worth telling of: all, or in a huge graph those near the roots, the failure and the boundary."""
        graph = self.graph
        if graph is None:
            return []
        if len(graph.nodes) <= _NODES:
            return list(graph.nodes)
        chosen = dict.fromkeys(list(graph.nodes)[: _NODES // 4])
        for node, parents in graph.nodes.items():
            if is_leaf(node) and len(chosen) < _NODES:
                chosen[node] = None
            elif not graph.freed[node] and any(graph.freed[p] for p in parents) and len(chosen) < _NODES:
                chosen.update(dict.fromkeys((node, *parents)))
        if graph.failing is not None:
            chosen[graph.failing] = None
        return list(chosen)

    def _is_whole(self) -> bool:
        """Whether the log has all that ran between the passes. A frame that has no marks (see `mark_running`) must have stood at one
        and the same call in all of them, and in no loop."""
        log = self.watcher.log
        if log is None or not log.live or self.watcher.frozen:
            return log is not None
        unmarked: set[tuple[Any, int]] = set()
        for key in {n.key for n in self.notes}:
            unmarked |= {(c, at) for c, at in pairs_of(key) if {MARK, ENTER}.isdisjoint(c.code.co_names)}
        places = [self.watcher.files.places(pair)[0] for pair in unmarked]
        if len(places) > len({(p.file, p.function) for p in places}):
            return False
        texts = [(parsed(self.watcher.files.text(p.file)), p.line) for p in places]
        return all(source is not None and not source.loops(line) for source, line in texts)

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
            clears=tuple(self._clears()),
            bindings=tuple(self._bindings()),
            holdings=tuple(self._holdings()),
            writes=writes,
            cuts=tuple(self._cuts()),
            failures=failures,
            owners=tuple(self._owners()),
            held=frozenset(self.watcher.leaves.held) if self.watcher.leaves.held else None,
            unregistered=dict(self.watcher.leaves.unregistered),
            called=self._called() if self.graph is None else None,
            executed=self._executed(),
            switches=self._switches(),
            stretches=self._stretches() if ended else (),
            parallels=tuple(
                Parallel(m.name, m.leaves, m.names, m.ranks, m.find_unused, m.static)
                for m in self.watcher.reducers.modules
            ),
            forwards=tuple(self._forwards()),
            all_forwards=not self.watcher.reducers.passed_over,
            rank=rank(),
            window=self._window() if ended else None,
            libraries=frozenset(self.watcher.looks.libraries),
            ended=ended,
            producer="watch",
        )
        return replace(trace, sources=self._sources(trace))

    def _pass(self, note: PassNote) -> Pass:
        stack = self.watcher.files.places(note.key)
        moment = self.moment(note.position - 1)
        return Pass(
            when=note.when,
            kind=note.kind,  # type: ignore[arg-type]
            roots=note.roots,
            outputs=note.outputs,
            given=note.given,
            inputs=note.inputs,
            retain=note.retain,
            create=note.create,
            place=stack[0] if stack else None,
            stack=stack,
            walked=note.walked,
            heads=note.heads or {},
            value=note.value,
            optimizers=self._optimizers(note),
            behind=note.behind,
            outcome=note.outcome,  # type: ignore[arg-type]
            kept_bytes=note.kept,
            iteration=note.iteration or None,
            loops=moment.loops if moment is not None and self.whole else None,
            nested=note.nested,
            maker=note.maker[0] if note.maker is not None else None,
            direct=note.direct,
            recording=note.recording,
            found=note.found or {},
            filled=note.filled,
            versions=note.versions or {},
            number=note.entry,
            thread=note.thread,
            reduced=note.reduced or {},
        )

    def _optimizers(self, note: PassNote) -> dict[str, int]:
        graph = self.graph
        if graph is not None and note is graph.failed.note:
            known = self.watcher.gradients.by_identity
            both = [*graph.shot.optimizers, *graph.shot.players.items()]
            seen = {n: known[id(o)][1] for n, o in both if id(o) in known}
        else:
            seen = note.optimizers or {}
        return {n: self.books[id(book)] for n, book in seen.items() if n and id(book) in self.books}

    def _forwards(self) -> Iterator[Forward]:
        events: dict[int, tuple[list[int], list[int]]] = {}
        for note in self.watcher.reducers.notes():
            if note.thread not in events:
                events[note.thread] = self._events(note.thread)
            stack = self.watcher.files.places(note.key)
            yield Forward(
                _last_before(events[note.thread], note.began),
                note.module,
                stack[0] if stack else None,
                stack,
                note.began,
                note.ended,
                note.synchronises,
                note.outputs,
                note.thread,
            )

    def _cuts(self) -> Iterator[Cut]:
        for note in self.watcher.checkpoints.notes():
            stack = self.watcher.files.places(note.key)
            yield Cut(note.when, "checkpoint", "", stack[0] if stack else None, leaves=tuple(sorted(note.leaves)))

    def _step(self, note: Any) -> Step:
        stack = self.watcher.files.places(note.key)
        return Step(
            when=note.when,
            optimizer=note.book.name if note.book is not None else "",
            leaves=note.book.every if note.book is not None else note.hand,
            place=stack[0] if stack else None,
            moved=note.moved,
            used=note.used or {},
            iteration=note.iteration,
            passes=note.passes,
            # When within the stretch between two passes a step by hand was made is not known.
            number=note.mark if note.book is not None else None,
            thread=note.thread,
            digest=note.digest,
        )

    def _clears(self) -> list[Clear]:
        """What was found cleared, with the statement that did it where one that ran says so."""
        found, log, before = [], self.watcher.log, self.watcher.began
        notes: list[PassNote | StepNote] = [*self.notes, *self.steps]
        for note in sorted(notes, key=lambda n: n.when):
            if note.cleared:
                place = None
                for _, statement in log.between(before, note.position) if log is not None else ():
                    if clears_gradients(linecache.getlines(statement.file), statement.line):
                        place = Place(self.watcher.files.show(statement.file), statement.line, statement.function)
                found.append(Clear(note.when, note.cleared, place))
            before = note.position
        return found

    def _called(self) -> tuple[Place, ...] | None:
        """The statements that ran around the first passes."""
        log = self.watcher.log
        began = self.watcher.began
        if log is None or not self.whole or log.dropped > began or not self.notes:
            return None
        last = self.notes[min(len(self.notes), 8) - 1].position
        seen = dict.fromkeys(s for _, s in log.between(began, last))
        return tuple(Place(self.watcher.files.show(s.file), s.line, s.function) for s in seen)

    def _owners(self) -> list[Owner]:
        found = []
        live = {id(o): o for _, o in (self.graph.shot.optimizers if self.graph is not None else ())}
        of = {id(book): live.get(key) for key, (_, book) in list(self.watcher.gradients.by_identity.items())}
        for book in self.watcher.gradients.books():
            optimizer = of.get(id(book))
            requiring = None
            if optimizer is not None:
                every = [p for g in optimizer.param_groups for p in g["params"]]
                requiring = tuple(self.watcher.leaves.number(p) for p in every if p.requires_grad)
            bare = tuple(book.bare) if book.looked > 1 else None
            found.append(
                Owner(
                    book.name,
                    book.every,
                    bare,
                    book.steps,
                    book.first,
                    alive=id(book) in of,
                    requiring=requiring,
                    given=tuple(book.given & set(book.bare)) if bare is not None else None,
                    kept_alike=book.kept_alike() if bare is not None else None,
                    idle=book.idle,
                )
            )
        return found

    def _bindings(self) -> list[Binding]:
        found = []
        shots = [(n.when, n.shot) for n in self.notes if n.shot is not None]
        if self.graph is not None:
            shots = [(w, s) for w, s in shots if w != self.graph.failed.note.when]
            shots.append((self.graph.failed.note.when, self.graph.shot))
            found += self._by_offset()
        for when, shot in shots:
            found += [
                Binding(
                    when, s.trail.path(), s.number, s.freed, s.function, s.single, s.terms, s.leaves, s.nodes, s.bytes
                )
                for s in shot.names
            ]
        return found

    def _by_offset(self) -> list[Binding]:
        """Names at the last passes that were not looked at. In a steady loop a name's node is always equally far from the
        pass, so an earlier look at the same call site tells which name was where."""
        found = []
        looked = {n.key: n for n in self.notes if n.shot is not None}
        for note in [n for n in self.notes[-_RECENT:] if n.shot is None and n.key in looked]:
            like = looked[note.key]
            for seen in like.shot.names if like.shot is not None else ():
                number = note.entry - (like.entry - seen.number)
                found.append(Binding(note.when, seen.trail.path(), number, None, seen.function, seen.single))
        return found

    def _holdings(self) -> list[Holding]:
        shots: list[tuple[int, Snapshot]] = [(n.when, n.shot) for n in self.notes if n.shot is not None]
        if self.graph is not None:
            shots.append((self.graph.failed.note.when, self.graph.shot))
        return [
            Holding(
                when,
                h.trail.path(),
                h.count,
                h.numbers,
                h.nodes,
                h.bytes,
                single=h.single,
                hooks=h.hooks,
                bare=h.bare,
                within=h.within,
            )
            for when, shot in shots
            for h in shot.holders
        ]

    def _nodes(self) -> dict[int, Node]:
        graph = self.graph
        found = {n: Node(n, "AccumulateGrad", (), (), leaf=name) for n, name in self.watcher.leaves.names.items()}
        for number, op in self.makers.items():
            moment = self.moment(self.made.get(number))
            stack = moment.stack if moment is not None else ()
            found[number] = Node(number, op, place=stack[0] if stack else None, stack=stack)
        if graph is None:
            return found | self._walked_again()
        chosen = set(self.chosen)
        names = _leaf_names(graph)
        events = self._events(graph.failed.note.thread)
        for node in self.chosen:
            number = graph.number[node]
            if is_leaf(node):
                found[number] = Node(number, "AccumulateGrad", (), (), leaf=names.get(number, ""))
                continue
            at = self.positions.get(node)
            moment = self.moment(at)
            stack = moment.stack if moment is not None else ()
            found[number] = Node(
                number=number,
                op=node.name(),
                parents=tuple(graph.number[p] for p in graph.nodes[node] if p in chosen),
                saved=tuple(name for name, _ in saved_tensors(node)) or None,
                place=stack[0] if stack else None,
                stack=stack,
                when=_last_before(events, number) if number < _OWN else None,
                freed=graph.freed[node],
                loops=moment.loops if moment is not None and self.whole else None,
                again=self.timeline.again(at) if self.timeline is not None and at is not None and self.whole else None,
            )
        return found

    def _events(self, thread: int) -> tuple[list[int], list[int]]:
        """Node numbers at the events of a thread, rising, and the latest event up to each."""
        marks = [(n.entry, n.when) for n in self.notes if n.thread in (0, thread)]
        marks += [(n.mark, n.when) for n in self.steps if n.thread in (0, thread)]
        marks.sort()
        return [m for m, _ in marks], list(accumulate((w for _, w in marks), max))

    def _walked_again(self) -> dict[int, Node]:
        """The graphs of passes that walked, without an error, what earlier ones had walked and freed."""
        found: dict[int, Node] = {}
        for note in self.notes:
            for number, (op, parents) in (note.nodes or {}).items():
                if number not in found:
                    moment = self.moment(self.again.get(number))
                    stack = moment.stack if moment is not None else ()
                    found[number] = Node(number, op, parents, place=stack[0] if stack else None, stack=stack)
        return found

    def _writes_and_failures(self) -> tuple[tuple[Write, ...], tuple[Failure, ...]]:
        graph = self.graph
        if graph is None:
            return (), ()
        failed = graph.failed
        stack = self.watcher.files.places(failed.note.key)
        writes, leaf, names = find_writes(graph, whole=self.whole) if failed.kind == "inplace" else ([], None, [])
        requires: dict[str, bool] = {}
        trained: tuple[str, ...] = ()
        if failed.kind == "no-grad":
            requires = {n: t.requires_grad for n, t in list(graph.tensors.items())[:_LIVE]}
            frames = failed.frames or self.watcher.files.frames(failed.frame)
            trained = paths_to(frames, self.watcher.gradients.requiring(), self.watcher.leaves)
        failure = Failure(
            when=failed.note.when,
            kind=failed.kind,  # type: ignore[arg-type]
            message=str(failed.error),
            node=graph.number.get(graph.failing) if graph.failing is not None else None,
            place=stack[0] if stack else None,
            stack=stack,
            saved=graph.saved,
            leaf=leaf,
            names=tuple(names),
            waiting=getattr(graph, "waiting", None),
            parallel=getattr(graph, "parallel", None),
            requires=requires,
            trained=trained,
        )
        return tuple(writes), (failure,)

    def _executed(self) -> Any:
        """What ran before a loss without history was sent through, or (at the end) between passes: in other cases nobody
        asks for it."""
        graph, log = self.graph, self.watcher.log
        if log is None or not self.whole:
            return None
        if graph is not None:
            note = graph.failed.note if graph.failed.kind == "no-grad" else None
        else:
            # A root without history that was made to require a gradient by itself.
            note = next((n for n in self.notes if _from_leaf(n)), None)
        if note is None or not note.in_main_thread or note.position < log.dropped:
            return None
        earlier = [n for n in self.notes if n.when < note.when]
        # An iteration ends where it begins anew, not with another loss's pass, nor with a gradient taken on the way (`grad`).
        for back in ([n for n in earlier if n.key == note.key], [n for n in earlier if n.kind == "backward"], earlier):
            since = max((n.position for n in back), default=self.watcher.began)
            if note.position - since <= _FAR:
                break
        return executed(log, self.watcher.files, since, note.position, note.entry)

    def _switches(self) -> tuple[Switch, ...]:
        """Statements that may have switched recording off, where it was off when a pass failed."""
        graph, log = self.graph, self.watcher.log
        if graph is None or log is None or graph.failed.kind != "no-grad" or graph.failed.note.recording is not False:
            return ()
        note = graph.failed.note
        on = max((n.position for n in self.notes if n.when < note.when and n.recording), default=self.watcher.began)
        found = []
        for _, statement in log.between(max(on, note.position - _FAR), note.position):
            how = switches_recording(linecache.getlines(statement.file), statement.line)
            if how:
                place = Place(self.watcher.files.show(statement.file), statement.line, statement.function)
                found.append(Switch(note.when, place, how))
        return tuple(found)

    def _stretches(self) -> tuple[Stretch, ...]:
        """What ran between the passes that had the most recorded before them: only worth asking when all is over."""
        log = self.watcher.log
        if log is None or not self.whole or self.graph is not None:
            return ()
        here = [n for n in self.notes if n.in_main_thread]
        pairs = [(a, b) for a, b in pairwise(here) if a.position >= log.dropped and not b.nested]
        if not pairs:
            return ()
        usual = median_low([b.entry - a.entry for a, b in pairs])
        long = [(a, b) for a, b in pairs if b.entry - a.entry > 2 * usual + _ENOUGH]
        found = []
        for a, b in sorted(long, key=lambda ab: ab[0].entry - ab[1].entry)[:_STRETCHES]:
            end = min(b.position, a.position + _FAR)
            number = b.entry if end == b.position else log.number(end)
            found.append(Stretch(b.when, executed(log, self.watcher.files, a.position, end, number)))
        return tuple(found)

    def _window(self) -> Stretch | None:
        """A few iterations between passes that were all looked at. What the last ones may still walk is left out."""
        log = self.watcher.log
        if log is None or self.graph is not None:
            return None
        bare = [book.first for book in self.watcher.gradients.books() if book.looked > 1 and book.bare]
        here: list[PassNote] = []
        for note in self.notes:
            if note.in_main_thread and not note.nested:
                # What is over before an optimizer with something to ask about has begun says nothing about it.
                told = not bare or any(first is not None and here and first < here[-1].when for first in bare)
                if note.walked is None and len(here) >= _ENOUGH and told:
                    break
                here = [*here, note] if note.walked is not None else []
        here = here[-_WINDOW:]
        last = len(here) - 1 - len({n.key for n in here})
        if last < 1 or here[0].position < log.dropped or here[last].position - here[0].position > _FAR:
            return None
        first, end = here[0], here[last]
        return Stretch(end.when, executed(log, self.watcher.files, first.position, end.position, end.entry))

    def _sources(self, trace: Trace) -> dict[str, str]:
        stacks = [
            *(p.stack for p in trace.passes),
            *(n.stack for n in trace.nodes.values()),
            *(f.stack for f in trace.failures),
            *(f.stack for f in trace.forwards),
        ]
        places = [p for stack in stacks for p in stack]
        found = [*(s.place for s in trace.steps), *(w.place for w in trace.writes), *(c.place for c in trace.clears)]
        places += [p for p in found if p is not None]
        places += [e.place for e in trace.executed or ()]
        files = {p.file for p in places}
        if any(f.startswith(CELL) for f in files):
            files |= self.watcher.files.cells()
        if self.watcher.log is not None and self.graph is None:
            files.update(self.watcher.files.show(f) for f in {s.file for s in self.watcher.log.statements})
        return {f: text for f in sorted(files) if (text := self.watcher.files.text(f))}


def _from_leaf(note: PassNote) -> bool:
    return bool(note.roots) and max(note.roots) < 0 and note.kind == "backward" and not note.nested


def _last_before(events: tuple[list[int], list[int]], number: int) -> int:
    """The last event before a node of a number was built."""
    at = bisect_right(events[0], number)
    return events[1][at - 1] if at else -1


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
