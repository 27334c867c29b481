# SPDX-License-Identifier: BSD-3-Clause
"""What a pass that met spent history has in common with the pass that spent it: read once, asked by every cause."""

from __future__ import annotations

from functools import cached_property

from ..record import Loop, Node, Step, Trace
from ._border import kept_from_before
from ._linear import ADDING, SUMMING, is_linear
from ._named import Named

__all__ = ["Reuse", "reuses"]


def reuses(trace: Trace) -> list[Reuse]:
    """Every failure of the trace that met spent history."""
    found = []
    for failure in trace.failures:
        used = trace.at(failure.when)
        if failure.node not in trace.nodes or used is None:
            continue
        node = trace.nodes[failure.node]
        if failure.kind == "backward-twice" or (failure.kind == "inplace" and kept_from_before(trace, node, used)):
            found.append(Reuse(trace, failure, used, node))
    return found


def _is_sum(node: Node) -> bool:
    return node.op.startswith(("Add", "Sub", "Rsub", "RSub"))


class Reuse(Named):
    """One meeting of a pass with spent history."""

    # -- loops -------------------------------------------------------------------------------------------------------

    @cached_property
    def crossed(self) -> Loop | None:
        """The loop of which the entry was built in an earlier iteration than the one that uses it."""
        if self.entry.loops is None or self.used.loops is None:
            return None
        built = {(x.file, x.line): x.count for x in self.entry.loops}
        return next((x for x in self.used.loops if built.get((x.file, x.line), x.count) < x.count), None)

    @cached_property
    def outside(self) -> Loop | None:
        """The loop around both passes, in different iterations, that the entry was built outside of."""
        if self.entry.loops is None or self.used.loops is None or self.freed is None or self.freed.loops is None:
            return None
        built = {(x.file, x.line) for x in self.entry.loops}
        then = {(x.file, x.line): x.count for x in self.freed.loops}
        for x in self.used.loops:
            if (x.file, x.line) not in built and then.get((x.file, x.line), x.count) < x.count:
                return x
        return None

    @cached_property
    def recalled(self) -> bool:
        """Whether the function that makes the pass was called again, and loops do not tell why (a closure, a
        framework)."""
        return self.same_site and not self.crossed and not self.outside

    @cached_property
    def built_in_call(self) -> bool:
        """Whether the entry was built inside the function that makes the pass (or one that it called)."""
        inside = {p.function for p in self.entry.stack}
        return bool(self.used.stack) and self.used.stack[0].function in inside

    @cached_property
    def recurs(self) -> bool:
        """Whether what was built anew at the entry's own place was built from the entry."""
        for n in self.new:
            if n.op != self.entry.op or n.place != self.entry.place or not self._behind(n, self.entry):
                continue
            # Without places, equal operations are all there is to go by; a name that never moved speaks against it.
            if n.place is not None or not self.bound_all_along:
                return True
        then = {s.name for s in self.bound_then}
        numbers = [s.number for s in self.trace.sightings if s.when == self.used.when and s.name in then]
        return any(
            k in self.walked and self._behind(self.walked[k], self.entry) and k != self.entry.number for k in numbers
        )

    @cached_property
    def deepens(self) -> bool:
        """Whether what is built on the entry at its own place uses other parameters than the entry does: the next
        layer of a forward, not the next round of a state."""
        new = {n.number for n in self.new}
        again = [n.number for n in self.new if n.place is not None and n.place == self.entry.place]
        between = [n for n in self.trace.history(*again) if n.number in new]
        ends = (self.trace.nodes.get(p) for n in between for p in n.parents or ())
        added = {n.number for n in ends if n is not None and n.leaf is not None}
        return bool(added) and not added & self.leaves

    def _behind(self, node: Node, old: Node) -> bool:
        return any(n.number == old.number for n in self.trace.history(*(node.parents or ())))

    @cached_property
    def rebound(self) -> bool:
        """Whether a name that held the entry at the first pass holds something else at the second."""
        now = {s.name: s.number for s in self.trace.sightings if s.when == self.used.when}
        return any(s.name in now and now[s.name] != s.number for s in self.bound_then)

    @cached_property
    def later(self) -> bool:
        """Whether the entry comes from an earlier iteration or call than the one that uses it."""
        return self.crossed is not None or self.recurs or self.rebound or (self.recalled and bool(self.new))

    # -- what happened in between --------------------------------------------------------------------------------------

    @cached_property
    def leaves(self) -> set[int]:
        """The leaves behind the entries."""
        return {n.number for e in self.entries for n in self.trace.history(e.number) if n.leaf is not None}

    @cached_property
    def steps_between(self) -> list[Step]:
        """Steps between the two passes."""
        if self.freed is None:
            return []
        return [s for s in self.trace.steps if self.freed.when < s.when < self.used.when]

    @cached_property
    def updated(self) -> bool | None:
        """Whether what the entry was computed from changed in between; None where the trace cannot tell."""
        if any(not s.leaves or set(s.leaves) & self.leaves for s in self.steps_between):
            return True
        if self.freed is not None and any(self.freed.when < w.when <= self.used.when for w in self.trace.writes):
            return True
        if any(s.inside and s.when < self.used.when for s in self.trace.steps[-1:]):
            return True
        return False if self.trace.steps or self.trace.owners else None

    @cached_property
    def linear_to_root(self) -> bool:
        """Whether every new way from the root to an entry only adds up (and divides by a count)."""
        return all(n.op.partition("Backward")[0] in SUMMING for n in self.new if self._leads_to_entry(n))

    @cached_property
    def scaled_to_root(self) -> bool:
        """The same with scalings allowed: a moving average of losses."""
        return all(is_linear(n) for n in self.new if self._leads_to_entry(n))

    @cached_property
    def added_again(self) -> bool:
        """Whether the entry is a number that every turn of the same code adds to, and that is only added to the root:
        what reduces or rearranges would take more than a number, and a product with another history is no sum."""
        way = [n for n in self.new if self._leads_to_entry(n)]
        return (
            self.recurs
            and self.same_site
            and all(n.op.partition("Backward")[0] in ADDING and (_is_sum(n) or len(n.parents or ()) < 2) for n in way)
        )

    @cached_property
    def one_term(self) -> bool:
        """Whether the root has new terms that do not come by way of what was added to the entry."""
        through = {n.number for n in self.new if self._leads_to_entry(n)}
        sums = {k for k in through if (n := self.walked[k]).place is not None and n.place == self.entry.place}
        behind = {n.number for n in self.trace.history(*sums)}
        return bool(sums) and any(n.number not in behind for n in self.fresh)

    def _leads_to_entry(self, node: Node) -> bool:
        wanted = {e.number for e in self.entries}
        return any(n.number in wanted for n in self.trace.history(node.number))

    @cached_property
    def entry_was_loss(self) -> bool:
        """Whether the first pass started from the entry, or from sums and scalings of it."""
        if self.freed is None:
            return False
        wanted = {e.number for e in self.entries}
        todo = list(self.freed.roots or ())
        seen: set[int] = set()
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
        return root not in self.trace.nodes and 0 <= root - self.entry.number <= 3
