# SPDX-License-Identifier: BSD-3-Clause
"""A pass has met history that an earlier pass had freed (or, kept, that has changed since): the facts that decide why.

NOTE [ The boundary ]
1. `used` is the failing pass, `freed` the pass that freed the failing node.
2. A node is old if it was there when `freed` began, or was still built in that pass's iteration. Where the failing graph has
   new nodes, the boundary lies between a new node and an old one that leads to the failing node: that old node is an entry,
   and the path that holds it is the carrier. It need not be freed itself (its own last operations may lie off the way).
3. Where nothing but sums and scalings is new (rule 4), both roots were there before the first pass; the boundary then lies
   between what `freed` walked and what only `used` walks.
4. Linear nodes do not make a graph new: `(loss / 2).backward()` twice is the same loss twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Literal

from ...record import Binding, Failure, Loop, Node, Owner, Pass, Path, Place, Step, Trace
from .operations import (
    adds,
    averages,
    is_linear,
    is_row,
    is_view,
    joins,
    measures,
    mixes,
    scales,
    subtracts,
    takes_data,
)
from .steps import steps_in_loop

__all__ = ["Born", "Joins", "Meeting", "count_of", "meetings", "outdated"]

Born = Literal["this iteration", "one earlier", "several earlier", "before the loop", "another call", "unknown"]
Joins = Literal["added", "averaged", "scaled", "otherwise"]


def meetings(trace: Trace) -> list[Meeting]:
    """Every failure of the trace that met freed history, or history kept from an earlier iteration that has changed."""
    found = []
    for failure in trace.failures:
        used = trace.at(failure.when)
        if failure.node not in trace.nodes or used is None:
            continue
        node = trace.nodes[failure.node]
        if failure.kind == "backward-twice":
            found.append(_eldest(Meeting(trace, failure, used, node)))
        elif failure.kind == "inplace" and (met := outdated(trace, failure, node, used)) is not None:
            found.append(_eldest(met))
    return found


def outdated(trace: Trace, failure: Failure, node: Node, used: Pass) -> Meeting | None:
    """The meeting of an in-place error with an earlier iteration's history. A loop over players has no iterations: what
    another player's step has changed is of this turn."""
    met = Meeting(trace, failure, used, node)
    return met if met.freed is not None and not met.in_turns else None


def _eldest(met: Meeting) -> Meeting:
    """The meeting with history of an earlier iteration, where the pass has walked into that as well as into what an earlier
    pass of its own iteration freed: the engine comes to the youngest first, but it is not the youngest that should be gone."""
    if met.born != "this iteration" or met.changed or not met.new:
        return met
    elder = [n for n in met.walked.values() if n.freed and met.is_elder(n)]
    return Meeting(met.trace, met.failure, met.used, max(elder, key=lambda n: n.number)) if elder else met


def kept_before(trace: Trace, node: Node, used: Pass) -> Pass | None:
    """The pass of an earlier iteration that left a node as it was, which this one walks (again).

    It kept the node (`retain_graph=True`): people meet the backward-twice error, keep the graph, and then meet an
    in-place error, because a step has changed what the old graph saved. Or it did not reach the node, the last that its
    iteration made, or one from before the loop (of a rollout, every batch has another part). What is wrong is in both cases that
    the old graph is reached at all.
    """
    before = [p for p in trace.passes if p.when < used.when and p.stack == used.stack]
    for p in reversed(before):
        if p.retain and p.walked is not None and node.number in p.walked:
            same = set(p.roots or ()) & set(used.roots or ())
            return p if same or _has_new(trace, used, p) else None
    last = before[-1] if before else None
    if last is None or node.when is None or not node.when < last.when:
        return None
    return last if (_goes_on(node, used) or _lies_before(node, last, used)) and _has_new(trace, used, last) else None


def _has_new(trace: Trace, used: Pass, since: Pass) -> bool:
    """Whether a pass walks anything that was built after another. All of it being old, it is a loss that was made before
    the step and not an iteration that goes on."""
    history = (n for n in trace.history(*(used.roots or ())) if n.leaf is None)
    return any(n.when is None or (n.when >= since.when and not is_linear(n)) for n in history)


def _goes_on(node: Node, used: Pass) -> bool:
    """Whether a node was built in an earlier iteration of a loop that a pass is in."""
    return any(count_of(node.loops, x) not in (None, x.count) for x in used.loops or ())


def _lies_before(node: Node, last: Pass, used: Pass) -> bool:
    """Whether a node was built outside of a loop that has gone on from one pass to another."""
    went_on = [x for x in used.loops or () if (count_of(last.loops, x) or x.count) < x.count]
    return node.loops is not None and any(count_of(node.loops, x) is None for x in went_on)


def _is_past(built: tuple[Place, ...], used: tuple[Place, ...]) -> bool:
    """Whether what was built lies behind a pass in a function that both are in: as this call of it has not got there yet, it
    was built in an earlier one. That tells turns apart that no loop statement makes (`[step(b) for b in batches]`)."""
    at = {(p.file, p.function): p.line for p in used}
    lines = ((p.line, at.get((p.file, p.function), p.line)) for p in reversed(built))
    return next((one > other for one, other in lines if one != other), False)


def _variable(seen: Binding) -> tuple[str, str]:
    """Which variable a path goes out from: two functions may each have a local of one name."""
    return seen.name, seen.function if seen.path.kind == "local" else ""


def count_of(loops: Iterable[Loop] | None, loop: Loop) -> int | None:
    """Which iteration of a loop some running loops say it was in; None where it was not running."""
    return next((x.count for x in loops or () if (x.file, x.line) == (loop.file, loop.line)), None)


class Meeting:
    """The two passes, and where old history enters the new graph."""

    def __init__(self, trace: Trace, failure: Failure, used: Pass, node: Node, origin: Meeting | None = None) -> None:
        self.trace, self.failure, self.used, self.node = trace, failure, used, node
        self.origin = origin
        """The meeting as it was judged, where this one shows the same with the boundary of rule 3 of the NOTE."""

    def of_one_iteration(self) -> Meeting:
        """The same with the boundary between what the first pass walked and what only the second one walks."""
        return Meeting(self.trace, self.failure, self.used, self.node, self)

    # -- the two passes ----------------------------------------------------------------------------------------------

    @property
    def changed(self) -> bool:
        """Whether the old history is still there, but not the values that it needs."""
        return self.failure.kind == "inplace"

    @cached_property
    def freed(self) -> Pass | None:
        """The pass that freed the failing node (or, for an in-place error, kept it)."""
        if self.changed:
            return kept_before(self.trace, self.node, self.used)
        before = [p for p in self.trace.passes if p.when < self.used.when and p.frees]
        # A pass that failed has freed what it had walked by then, if nobody else has.
        for ended in ("ok", "failed"):
            known = [p for p in before if p.outcome == ended and p.walked is not None and self.node.number in p.walked]
            if known:
                return known[-1]
        before = [p for p in before if p.outcome == "ok"]
        can = [p for p in before if p.walked is None and (self.node.when is None or self.node.when < p.when)]
        reach = [p for p in can if not p.roots or max(p.roots) >= self.node.number]
        return reach[0] if reach else can[-1] if can else None

    @cached_property
    def same_site(self) -> bool:
        """Whether both passes are the same call, reached in the same way."""
        return self.freed is not None and self.freed.stack == self.used.stack and bool(self.used.stack)

    @cached_property
    def inside(self) -> bool:
        """Whether the first pass ran inside the second: no pass that is not nested began in between."""
        freed = self.freed
        if freed is None or not freed.nested:
            return False
        outer = next((p for p in reversed(self.trace.passes) if p.when <= self.used.when and not p.nested), None)
        # A hook or a backward of the user's that calls the engine twice makes two passes one after the other.
        if freed.maker is not None and self.used.maker is not None:
            return outer is not None and outer.when <= freed.when and freed.maker != self.used.maker
        if freed.stack != self.used.stack:
            return False
        return outer is not None and outer.when <= freed.when and outer.stack == self.used.stack

    # -- the boundary ------------------------------------------------------------------------------------------------

    def is_old(self, node: Node) -> bool:
        """Rule 2."""
        if self.freed is None or node.when is None:
            return bool(node.freed)
        if node.when < self.freed.when:
            return True
        loop = self.advanced
        # Built after the first pass, but still in its iteration: `baseline = 0.9 * baseline + ...` below the backward.
        if loop is not None:
            return node.loops is not None and count_of(node.loops, loop) == loop.count
        return self.same_site and _is_past(node.stack, self.used.stack)

    @cached_property
    def advanced(self) -> Loop | None:
        """The innermost loop that went on between the two passes, as it stood at the first."""
        if self.freed is None or self.freed.loops is None or self.used.loops is None:
            return None
        return next((x for x in self.freed.loops if (count_of(self.used.loops, x) or x.count) > x.count), None)

    @cached_property
    def walked(self) -> dict[int, Node]:
        """The nodes of the failing pass."""
        return {n.number: n for n in self.trace.history(*(self.used.roots or ()))}

    @cached_property
    def new(self) -> list[Node]:
        """What the failing pass has that was not there when the first one began."""
        return [n for n in self.walked.values() if n.leaf is None and not self.is_old(n)]

    @cached_property
    def fresh(self) -> list[Node]:
        """The new nodes that are more than sums and scalings (rule 4)."""
        return [n for n in self.new if not is_linear(n)]

    @cached_property
    def _leading(self) -> set[int]:
        """Numbers of the nodes that lead to the failing node."""
        return self._above({self.node.number})

    def _above(self, wanted: set[int]) -> set[int]:
        """Numbers of the walked nodes from which some nodes are reached, themselves included."""
        children: dict[int, list[int]] = {}
        for n in self.walked.values():
            for parent in n.parents or ():
                children.setdefault(parent, []).append(n.number)
        found, todo = set(wanted), list(wanted)
        while todo:
            for child in children.get(todo.pop(), ()):
                if child not in found:
                    found.add(child)
                    todo.append(child)
        return found

    @cached_property
    def boundary(self) -> list[tuple[Node | None, Node]]:
        """(the node that consumes, the entry): see NOTE [ The boundary ]. The youngest entry comes first."""
        if self.fresh and self.origin is None:
            found = self._edges(lambda n: not self.is_old(n))
            if found:
                return found
        first = self.freed.walked if self.freed is not None and self.origin is not None else None
        if first is not None:
            found = self._edges(lambda n: n.number not in first)
        else:  # what is freed of earlier iterations enters as well, failing or not: the losses of a sum
            elder = {n.number for n in self.walked.values() if n.freed and self._crossed(n) is not None}
            found = self._edges(lambda n: not n.freed, elder)
        if found:
            return found
        roots = [self.walked[r] for r in self.used.roots or () if r in self.walked]
        return [(None, r) for r in roots] or [(None, self.node)]

    def _edges(
        self, outside: Callable[[Node], bool], also: AbstractSet[int] = frozenset()
    ) -> list[tuple[Node | None, Node]]:
        """Where nodes that are outside consume others that lead to the failing node, or are among some others."""
        found: list[tuple[Node | None, Node]] = []
        wanted = self._leading | also
        for n in self.walked.values():
            if n.leaf is not None or not outside(n):
                continue
            for number in n.parents or ():
                parent = self.walked.get(number)
                if parent is not None and parent.leaf is None and not outside(parent) and number in wanted:
                    found.append((n, parent))
        return sorted(found, key=lambda e: -e[1].number)

    @cached_property
    def entries(self) -> list[Node]:
        """All the places where old history enters, the youngest first."""
        return list({e.number: e for _, e in self.boundary}.values())

    @cached_property
    def entry(self) -> Node:
        """The entry that is spoken of: the youngest of those that come from another iteration, else the youngest."""
        elder = [e for e in self.entries if self.born_of(e) not in ("this iteration", "unknown")]
        return (elder or self.entries)[0]

    # -- born: in which iteration ------------------------------------------------------------------------------------

    @cached_property
    def crossed(self) -> Loop | None:
        """The loop of which the entry was built in an earlier iteration than the one that uses it."""
        return self._crossed(self.entry)

    def is_elder(self, node: Node) -> bool:
        """Whether a node was built in an earlier iteration of a loop that the failing pass is in."""
        return self._crossed(node) is not None

    def _crossed(self, entry: Node) -> Loop | None:
        if entry.loops is None or self.used.loops is None:
            return None
        return next((x for x in self.used.loops if (count_of(entry.loops, x) or x.count) < x.count), None)

    @cached_property
    def outside(self) -> Loop | None:
        """The loop around both passes, in different iterations, that the entry was built outside of."""
        return self._outside(self.entry)

    def _outside(self, entry: Node) -> Loop | None:
        freed = self.freed
        if entry.loops is None or self.used.loops is None or freed is None or freed.loops is None:
            return None
        for x in self.used.loops:
            then = count_of(freed.loops, x)
            if count_of(entry.loops, x) is not None or (then or 0) >= x.count:
                continue
            # Where the first pass came before the loop as well, the loop must be one that trains.
            if then is not None or steps_in_loop(self.trace, x):
                return x
        return None

    @cached_property
    def born(self) -> Born:
        """When the entry was built, as seen from the pass that uses it."""
        return self.born_of(self.entry)

    def born_of(self, entry: Node) -> Born:
        loop = self._crossed(entry)
        if loop is not None:
            apart = loop.count - (count_of(entry.loops, loop) or 0)
            return "one earlier" if apart == 1 else "several earlier"
        if self._outside(entry) is not None:
            # A generator is not in the loop that asks it for more: its statement has run again, in the same call.
            return "another call" if any(n.stack and n.stack == entry.stack for n in self.new) else "before the loop"
        if entry.loops is None or self.used.loops is None:
            return self._born_by_passes(entry)
        # Loops do not tell them apart: is it a function that is called again and again (a closure, a framework)?
        if self.same_site and self.new and (not self.is_new_in_call(entry) or self.is_old(entry)):
            return "another call"
        return "this iteration"

    def _born_by_passes(self, entry: Node) -> Born:
        """Without loops, an iteration is what lies between two passes of the same call."""
        if not self.same_site or self.freed is None or entry.when is None or not self.new:
            return "unknown" if not self.same_site else "another call"
        if any(b.number == entry.number for b in self.bound_all_along):
            return "before the loop"
        earlier = [p for p in self.trace.passes if p.stack == self.used.stack and entry.when < p.when < self.used.when]
        return "one earlier" if len(earlier) == 1 else "several earlier"

    def is_new_in_call(self, entry: Node) -> bool:
        """Whether a node was built after the first pass."""
        return self.freed is not None and entry.when is not None and entry.when >= self.freed.when

    @cached_property
    def earlier(self) -> bool:
        """Whether the entry comes from an earlier iteration or call than the one that uses it."""
        return self.born in ("one earlier", "several earlier", "another call")

    # -- again, next -------------------------------------------------------------------------------------------------

    @cached_property
    def again(self) -> bool | None:
        """Whether the statement that built the entry has run again since; None where that is not known, or where it lies in a
        function that was called again from elsewhere only."""
        like = [n.stack for n in self.new if n.place == self.entry.place and n.stack]
        if like and self.entry.stack and self.entry.stack not in like:
            return None
        if self.entry.again is not None:
            # Where it was built behind the pass of its own iteration, its turn has not come yet.
            return self.entry.again > 0 or (None if self.is_new_in_call(self.entry) else False)
        if self.entry.place is not None:
            return any(n.place == self.entry.place for n in self.new) or None
        return None

    @cached_property
    def replaced(self) -> bool:
        """Whether each path that led to the entry at the first pass leads to something newer now: its place goes on, whichever
        statements do it."""
        then = {b.name for b in self.bound_then if b.number == self.entry.number}
        now = {b.name: b.number for b in self.trace.bindings if b.when == self.used.when and b.name in then}
        return bool(now) and min(now.values()) > self.entry.number

    @cached_property
    def next(self) -> bool:
        """Whether the new value at the entry's own place was built from the old one."""
        for n in self.new:
            if n.op != self.entry.op or n.place != self.entry.place or not self._behind(n, self.entry):
                continue
            if self.born == "this iteration" and n.stack != self.entry.stack:
                continue  # a function that is called twice in one iteration: the second call's input is no state
            # Without places, equal operations are all there is to go by; a name that never moved speaks against it.
            if n.place is not None or not self.bound_all_along:
                return True
        then = {b.name for b in self.bound_then}
        numbers = {b.number for b in self.trace.bindings if b.when == self.used.when and b.name in then}
        return any(
            k in self.walked and k != self.entry.number and self._behind(self.walked[k], self.entry) for k in numbers
        )

    def _behind(self, node: Node, old: Node) -> bool:
        return any(n.number == old.number for n in self.trace.history(*(node.parents or ())))

    @cached_property
    def deepens(self) -> bool:
        """Whether what is built on the entry at its own place uses other parameters than the entry does: the next
        layer of a forward, not the next round of a state."""
        new = {n.number for n in self.new}
        again = [n.number for n in self.new if n.place is not None and n.place == self.entry.place]
        between = [n for n in self.trace.history(*again) if n.number in new]
        ends = (self.trace.nodes.get(p) for n in between for p in n.parents or ())
        added = {n.number for n in ends if n is not None and n.leaf is not None}
        added &= self.trained or added  # an input that requires a gradient is another one in each round
        return bool(added) and not added & self.leaves

    # -- holder ------------------------------------------------------------------------------------------------------

    def bindings(self, node: Node, when: int | None = None) -> list[Binding]:
        """The paths that led to a node."""
        return [b for b in self.trace.bindings if b.number == node.number and (when is None or b.when == when)]

    @cached_property
    def bound_now(self) -> list[Binding]:
        """Paths that lead to an entry when the second pass begins, or containers of its parts: what was taken apart in order
        to be put there is still the same value."""
        whole = [b for e in self.entries for b in self.bindings(e, self.used.when)]
        numbers = {e.number for e in self.entries}
        parts = [n for n in self.new if is_view(n) and n.parents and set(n.parents) <= numbers]
        return whole + [b for n in parts for b in self.bindings(n, self.used.when) if b.path.holder is not None]

    @cached_property
    def bound_then(self) -> list[Binding]:
        """Paths that led to an entry when the first pass began."""
        return [b for e in self.entries for b in self.bindings(e, self.freed.when)] if self.freed is not None else []

    @cached_property
    def bound_all_along(self) -> list[Binding]:
        """Paths that led to the same entry at both passes: built once, used again."""
        then = {(_variable(b), b.number) for b in self.bound_then}
        return [b for b in self.bound_now if (_variable(b), b.number) in then]

    @cached_property
    def handed_on(self) -> list[Binding]:
        """Paths that led, at the first pass or at the second, to old nodes that new ones were built on: all of them, also
        those that do not lead to the failing node."""
        old = {p for n in self.new for p in n.parents or () if p in self.walked and self.is_old(self.walked[p])}
        old = {p for p in old if self.walked[p].leaf is None} | {e.number for e in self.entries}
        moments = {self.used.when} | ({self.freed.when} if self.freed is not None else set())
        return [b for b in self.trace.bindings if b.number in old and b.when in moments]

    @cached_property
    def kept_inside(self) -> Place | None:
        """The statement whose call has kept the entry, where nothing of the user's led to it: what it made before comes into what it
        makes now."""
        if self.bound_now or self.bound_then or self.next or not self.earlier:
            return None
        places = [n.place for n, e in self.boundary if n is not None and e is self.entry]
        return next((p for p in places if p is not None and p in self.entry.stack), None)

    @cached_property
    def sampled(self) -> Path | None:
        """A container with values of several iterations of which the second pass has taken some and left others: data to
        choose from, not a state."""
        store = self.stores_several
        taken = {p for n in self.new for p in n.parents or ()}
        below = [b for b in self.trace.bindings if store and b.when == self.used.when and b.path.is_below(store)]
        old = {b.number for b in below if self.freed is None or b.number < (self.freed.number or 0)}
        return store if old and old - taken else None

    @cached_property
    def stays(self) -> bool:
        """Whether a plain name led to the same entry at both passes: it was not given another value in between."""
        return any(not b.path.ways and b.number == self.entry.number for b in self.bound_all_along)

    @cached_property
    def store(self) -> Path | None:
        """A container that holds an entry, or did at the first pass."""
        for b in (*self.bound_now, *self.bound_then):
            holder = b.path.holder
            if holder is not None:
                return holder
        return None

    @cached_property
    def still_stored(self) -> bool:
        """Whether a container still holds the entry: nothing has taken its place there."""
        return any(b.path.holder is not None for b in self.bound_now)

    @cached_property
    def keyed(self) -> bool:
        """Whether a container still holds the entry under a key that cannot be written down: one of several."""
        return any(w.key == "..." and w.kind == "item" for b in self.bound_now for w in b.path.ways)

    @cached_property
    def stores_several(self) -> Path | None:
        """A container that holds the entry together with values of other iterations."""
        for b in (*self.bound_now, *self.bound_then):
            holder = b.path.holder
            if holder is None:
                continue
            for when in (b.when, self.used.when):
                seen = [x.number for x in self.trace.bindings if x.when == when and x.path.is_below(holder)]
                seen += [
                    n for h in self.trace.holdings if h.when == when and h.path.is_below(holder) for n in h.numbers
                ]
                if len({self._interval(n) for n in seen}) > 1:
                    return holder
        return None

    @cached_property
    def collected(self) -> bool:
        """Whether a container was filled for the first pass, which went through all that it held, and since for the next one:
        with several values, as then. One more each time is a memory that grows."""
        holder, freed = self.stores_several, self.freed
        if holder is None or freed is None or freed.walked is None or freed.number is None:
            return False
        now = [h for h in self.trace.holdings if h.when == self.used.when and h.path.is_below(holder)]
        numbers = {n for h in now for n in h.numbers}
        numbers |= {b.number for b in self.trace.bindings if b.when == self.used.when and b.path.is_below(holder)}
        old = {n for n in numbers if n < freed.number}
        return len(old) > 1 and old <= freed.walked and len(numbers - old) > 1

    @cached_property
    def in_turn(self) -> Path | None:
        """A container of which passes take now these values, now others: what was put there is data."""
        for b in (*self.bound_now, *self.bound_then):
            holder = b.path.holder
            if holder is None:
                continue
            slots = {x.number for x in self.trace.bindings if x.when == b.when and x.path.is_below(holder)}
            before = [p.walked for p in self.trace.passes if p.stack == self.used.stack and p.outcome == "ok"]
            taken = {frozenset(slots & walked) for walked in (*before, set(self.walked)) if walked is not None}
            if len(taken - {frozenset()}) > 1:
                return holder
        return None

    @cached_property
    def rows(self) -> Path | None:
        """A container of rows, each in a place of its own, of which the pass walks some: a batch that was put away sample by
        sample."""
        several = (k for k, rows in self._rows.items() if any(n in self.walked for n in rows))
        return next(several, None)

    @cached_property
    def sparse(self) -> Path | None:
        """A container of tensors of which most have no history: some places in it were given new values, as samples are. A state
        has one in every place."""
        store = self.store
        seen = [h for h in self.trace.holdings if h.path == store and h.when == self.used.when]
        return store if any(h.bare > max(h.count, 2) for h in seen) and is_row(self.entry) else None

    @cached_property
    def picked(self) -> bool:
        """Whether the pass walks some of those rows and leaves others."""
        return self.rows is not None and any(n not in self.walked for n in self._rows[self.rows])

    @cached_property
    def _rows(self) -> dict[Path, list[int]]:
        found: dict[Path, list[int]] = {}
        for b in self.trace.bindings:
            node = self.trace.nodes.get(b.number)
            if b.when == self.used.when and b.path.holder is not None and node is not None and is_row(node):
                found.setdefault(b.path.holder, []).append(b.number)
        return {holder: rows for holder, rows in found.items() if len(rows) > 2}

    @cached_property
    def assembled(self) -> bool:
        """Whether the entry was put together from values of several iterations of a loop, none of them made from another."""
        parts = (
            [self.trace.nodes[p] for p in self.entry.parents or () if p in self.trace.nodes]
            if joins(self.entry)
            else []
        )
        turns = {tuple((x.file, x.line, x.count) for x in n.loops) for n in parts if n.loops}
        numbers = {n.number for n in parts}
        chained = any(n.number in numbers for part in parts for n in self.trace.history(*(part.parents or ())))
        return len(turns) > 1 and not chained

    def _interval(self, number: int) -> int:
        """Between which passes of the failing call a node was built."""
        marks = [p.number for p in self.trace.passes if p.stack == self.used.stack and p.number is not None]
        return sum(m <= number for m in marks)

    # -- joins, was root ---------------------------------------------------------------------------------------------

    @cached_property
    def way(self) -> list[Node]:
        """The new nodes between the root and the entries."""
        above = self._above({e.number for e in self.entries})
        return [n for n in self.new if n.number in above]

    @cached_property
    def joins(self) -> Joins:
        """How the entries come into the root: only added up, averaged, scaled on the way, or otherwise."""
        if all(adds(n) for n in self.way):
            return "added"
        if all(averages(n) for n in self.way):
            return "averaged"
        return "scaled" if all(is_linear(n) for n in self.way) else "otherwise"

    @cached_property
    def grows(self) -> bool:
        """Whether the entry's next value is the entry with something added."""
        own = [n for n in self.way if n.place is None or n.place == self.entry.place]
        return self.next and bool(own) and all(adds(n) for n in own if self._behind(n, self.entry))

    @cached_property
    def was_root(self) -> bool:
        """Whether the first pass started from an entry, or from sums and scalings of it."""
        if self.freed is None:
            return False
        wanted = {e.number for e in self.entries}
        todo, seen = list(self.freed.roots or ()), set[int]()
        while todo:
            number = todo.pop()
            if number in wanted:
                return True
            node = self.trace.nodes.get(number)
            if node is None or number in seen or not is_linear(node):
                continue
            seen.add(number)
            todo.extend(node.parents or ())
        # The root itself is gone from the graph: an entry that is a loss is as young as the root, or nearly.
        root = max(self.freed.roots or (-1,))
        return root not in self.trace.nodes and 0 <= root - max(wanted) <= 3

    @cached_property
    def same_loss(self) -> bool:
        """Whether both passes start from the same node, or from scalings of it, and nothing else is in either."""
        if self.freed is None:
            return False
        if self.freed.starts & self.used.starts:
            return True
        if set(self.freed.roots or ()) & set(self.used.roots or ()):
            return False  # parts of one value, each by itself
        first = self.freed.walked
        beside = [
            n
            for n in self.walked.values()
            if n.leaf is None and not (n.number in first if first is not None else n.freed)
        ]
        if first is not None and beside and self._same_sum(beside, [n for n in first if 0 <= n not in self.walked]):
            return True
        if self._sums_up:
            return True
        if not all(map(scales, beside)):
            return False
        if first is not None and not beside and self.used.kind == "backward" and self._was_term:
            return True  # of what was added up, a term is sent through again; to ask for its gradient is another matter
        if not self.was_root:
            return False
        if first is not None:  # the first pass may have had more in it: then it was another loss
            extra = [n for n in first if n >= 0 and n not in self.walked]
            return len(extra) <= _SCALING
        return True

    @property
    def _sums_up(self) -> bool:
        """Whether the second pass starts from a sum of nothing but what passes since the last step have started from."""
        before = [s.when for s in self.trace.steps if s.when < self.used.when]
        since = [p for p in self.trace.passes if max(before, default=-1) < p.when < self.used.when and p.frees]
        roots = {n for p in since for n in p.roots or () if n >= 0}
        todo, found = list(self.used.roots or ()), set[int]()
        while todo:
            number = todo.pop()
            if number in roots:
                found.add(number)
                continue
            node = self.walked.get(number)
            if node is None or node.leaf is not None or not (adds(node) or scales(node)):
                return False
            todo += node.parents or ()
        return len(found) > 1

    @property
    def _was_term(self) -> bool:
        """Whether the first pass started from a sum in which the second one's root was a term."""
        assert self.freed is not None
        todo, seen = list(self.freed.roots or ()), set[int]()
        while todo:
            number = todo.pop()
            op, parents = self.freed.heads.get(number, ("", ()))
            node = self.trace.nodes.get(number) or Node(number, op, parents)
            if number not in seen and (adds(node) or scales(node)):
                todo += node.parents or ()
            seen.add(number)
        return bool(self.used.roots) and set(self.used.roots or ()) <= seen

    def _same_sum(self, beside: list[Node], instead: list[int]) -> bool:
        """Whether the same values were only summed up or averaged once more (scaled: perhaps by other data)."""
        assert self.freed is not None
        known = {k: Node(k, op, parents) for k, (op, parents) in self.freed.heads.items()} | self.trace.nodes
        others = [known[n] for n in instead if n in known]
        if len(others) < len(instead) or not all(map(averages, (*beside, *others))):
            return False

        def told(nodes: list[Node]) -> tuple[set[int], int]:
            own = {n.number for n in nodes}
            return {p for n in nodes for p in n.parents or () if p not in own}, sum(map(subtracts, nodes))

        return told(beside) == told(others)

    # -- trained leaves and players ----------------------------------------------------------------------------------

    @cached_property
    def leaves(self) -> set[int]:
        """The leaves behind the entries."""
        return {n.number for e in self.entries for n in self.trace.history(e.number) if n.leaf is not None}

    @cached_property
    def players(self) -> list[Owner]:
        """The optimizers that are still there."""
        return [o for o in self.trace.owners if o.alive is not False]

    @cached_property
    def trained(self) -> set[int]:
        """The leaves that some optimizer owns."""
        return {n for o in self.players for n in o.leaves}

    @cached_property
    def through(self) -> set[int]:
        """The trained leaves behind the entries; all of them where nobody is seen to own any."""
        return self.leaves & self.trained if self.trained else self.leaves

    @cached_property
    def anew(self) -> set[int]:
        """The leaves that the failing pass reaches without going through an entry, nor through a penalty on their own values."""
        stop = {e.number for e in self.entries} | self._penalties
        # Nor through what else an earlier pass could have walked: of another iteration, or from before the loop.
        inner = (n for n in self.walked.values() if n.leaf is None and self.is_old(n))
        return self._reached(stop | {n.number for n in inner if self._crossed(n) or self._outside(n)})

    @cached_property
    def _penalties(self) -> set[int]:
        """The nodes behind which there are parameters alone, each by itself: how large they are, how far from where they began."""
        found: set[int] = set()
        for number, node in sorted(self.walked.items()):
            behind = [p for p in node.parents or () if self.walked.get(p, node).leaf is None]
            if node.leaf is None and node.parents and measures(node) and found.issuperset(behind):
                found.add(number)
        return found

    def _reached(self, stop: set[int]) -> set[int]:
        found, todo, seen = set[int](), list(self.used.roots or ()), set[int]()
        while todo:
            number = todo.pop()
            node = self.walked.get(number)
            if node is None or number in seen or number in stop:
                continue
            seen.add(number)
            if node.leaf is not None:
                found.add(number)
            todo.extend(node.parents or ())
        return found

    @cached_property
    def only_way_stored(self) -> bool:
        """Whether nothing of what is behind the entries is reached but through what is stored, the values of this iteration
        that are taken from there together with them among it, and no other loss trains it."""
        if not self.same_site and self.player(self.freed):
            return False
        entries = {e.number for e in self.entries}
        together = [set(n.parents or ()) for n in self.walked.values() if joins(n)]
        taken = set().union(entries, *(parts for parts in together if parts & entries))
        mine = self.through if self.mine is None else self.through & self.mine
        return bool(mine) and mine.isdisjoint(self._reached(taken))

    @cached_property
    def alone(self) -> set[int]:
        """The trained leaves that only the entries lead to, of those that the failing pass is for: cut there, and it does
        not train them any more."""
        mine = self.mine
        return (self.through if mine is None else self.through & mine) - self.anew

    @cached_property
    def mine(self) -> set[int] | None:
        """The leaves of the optimizers that the failing pass is for; None where that is not known."""
        player = self.player(self.used)
        owned = {n for o in self.players if player and o.name in player for n in o.leaves}
        return owned or None

    @cached_property
    def only_way(self) -> bool:
        """Whether nothing of what is behind the entries is reached in another way: it is part of what is trained."""
        through = self.through if self.mine is None else self.through & self.mine
        return bool(self.alone) and self.alone == through

    @cached_property
    def is_data(self) -> bool:
        """Whether what enters can be taken as data: what trains the leaves behind it is computed anew as well; it is more
        than a term of the loss, of which nothing would be left; and no layer takes it in, as it would the output of the
        layer before."""
        term = self.joins != "otherwise" and not self.next
        if self.only_way or term or any(mixes(n) for n in self.way):
            return False
        behind = [n for e in self.entries for n in self.trace.history(e.number)]
        return any(takes_data(n) if n.leaf is None else n.number not in self.trained for n in behind)

    def owners(self, leaves: Iterable[int]) -> list[Owner]:
        """The optimizers that own some of these leaves."""
        some = set(leaves)
        return [o for o in self.players if some & set(o.leaves)]

    def player(self, one: Pass | None) -> set[str] | None:
        """The optimizers whose steps used a pass's gradients; None where no step was seen to."""
        if one is None:
            return None
        like = [p for p in self.trace.passes if p.stack == one.stack and p.when <= one.when]
        for p in reversed(like):
            found = {s.optimizer for s in self.trace.steps if any(g and p.when in g for g in s.used.values())}
            found = found or self._next_to_step(p)
            if found:
                return self._turned(p, one) or found
        return None

    def _next_to_step(self, one: Pass) -> set[str]:
        """The optimizers that stepped before the next pass, where nobody followed what gradients they used."""
        end = min((p.when for p in self.trace.passes if p.when > one.when and not p.nested), default=one.when)
        between = [s for s in self.trace.steps if one.when < s.when < end and s.thread == one.thread]
        return {s.optimizer for s in between if not any(s.used.values())}

    def _turned(self, before: Pass, one: Pass) -> set[str]:
        """The optimizers that names lead to now, of those that led to others at an earlier pass of the same call: a loop goes
        over the players."""
        now = one.optimizers.items()
        return {self.trace.owners[k].name for path, k in now if before.optimizers.get(path, k) != k}

    @cached_property
    def rivals(self) -> bool:
        """Whether the two passes belong to different optimizers, as far as steps have shown or leaves can show."""
        if len(self.players) < 2 or self.freed is None:
            return False
        first, second = self.player(self.freed), self.player(self.used)
        if first is not None and second is not None:
            return not first & second
        # The failing pass has not come to its step: what it computes anew says whom it is for.
        if first is not None:
            owned = {n for o in self.players if o.name in first for n in o.leaves}
            return not self.through & owned or any(o.name not in first for o in self.owners(self.anew))
        shared, own = self.owners(self.leaves), {n for n in self.walked if n < 0}
        if not self.steps_between and self.owners(own) == shared:
            return False  # all that the failing pass trains lies behind what both share: a sum does as well
        if (
            not self.steps_between
            and self.owners(self.freed.walked or ()) == shared
            and self._goes_on_in_others(shared)
        ):
            return False  # heads on one trunk, in one step: as it is written, the trunk is trained for both
        return len(shared) == 1 and len(self.owners(set(self.freed.walked or ()) | own)) > 1

    def _goes_on_in_others(self, owners: list[Owner]) -> bool:
        """Whether all that enters is taken in by layers of other owners: these are put on top of it, not beside it."""
        others = {n for o in self.players if o not in owners for n in o.leaves}
        views = {n.number for n in self.walked.values() if is_view(n) and others.issuperset(n.parents or (0,))}
        takes = {n.number for n in self.walked.values() if (others | views).intersection(n.parents or ())}
        return self.leaves.isdisjoint(self._reached(takes))

    @cached_property
    def in_turns(self) -> bool:
        """Whether the two passes are one call that one player makes after the other."""
        then, now = self.player(self.freed), self.player(self.used)
        return self.same_site and bool(then) and bool(now) and not (then or set()) & (now or set())

    @cached_property
    def next_player(self) -> set[str]:
        """The optimizers whose turn it is, where both passes are one call that is made for one player after the other."""
        return self._turned(self.freed, self.used) if self.freed is not None and self.same_site else set()

    # -- what happened in between --------------------------------------------------------------------------------------

    @cached_property
    def steps_between(self) -> list[Step]:
        """Steps between the two passes that moved something, as far as was seen; a step that is under way counts."""
        if self.freed is None:
            return []
        found = [s for s in self.trace.steps if self.freed.when < s.when < self.used.when and s.moved != ()]
        running = [s for s in self.trace.steps if self.used.when in s.passes and self.freed.when in s.passes]
        return found + running

    @cached_property
    def cleared(self) -> bool:
        """Whether gradients that the first pass gave were cleared before the second one, without a step that used them."""
        if self.freed is None or self.steps_between:
            return False
        filled = set(self.freed.filled or ())
        return any(
            self.freed.when < c.when <= self.used.when and filled & set(c.leaves or ()) for c in self.trace.clears
        )

    @cached_property
    def moved(self) -> bool | None:
        """Whether leaves behind the entries moved between the two passes; None where the trace cannot tell."""
        if any(not s.leaves or set(s.leaves) & self.leaves for s in self.steps_between):
            return True
        between = [w for w in self.trace.writes if self.freed and self.freed.when < w.when <= self.used.when]
        if any(w.leaf is None or w.leaf in self.leaves for w in between):
            return True
        then = self.freed.versions if self.freed is not None else {}
        if any(k in then and then[k] != v for k, v in self.used.versions.items() if k in self.leaves):
            return True  # changed by hand
        return False if self.trace.steps or self.trace.owners else None


_SCALING = 2
"""How many nodes a root may have beside another and still be the same loss, scaled."""
