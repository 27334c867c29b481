# SPDX-License-Identifier: BSD-3-Clause
"""Where old history enters the graph of a pass that met it spent.

NOTE [ The border ]
1. `used` is the failing pass, `freed` the pass that spent the failing node.
2. A node is old if it was there when `freed` began. Where the failing graph has new nodes, the border is between a new
   node and an old one that leads to the failing node: that old node is the entry, and what names it is the carrier. It
   need not be spent itself (its own last operations may lie off the way of `freed`).
3. Where nothing but sums and scalings is new (rule 4), the losses were both there before the first pass; the border
   then is between what `freed` spent and what only `used` walks.
4. Linear nodes (sums, means, products with constants) do not make a graph new: `(loss / 2).backward()` twice is the
   same loss twice.
"""

from __future__ import annotations

from functools import cached_property

from ..record import Failure, Loop, Node, Pass, Trace
from ._linear import is_linear

__all__ = ["Border", "kept_from_before"]


def kept_from_before(trace: Trace, node: Node, used: Pass) -> Pass | None:
    """The pass of an earlier iteration that left a node as it was, which this one walks (again).

    It kept the node (`retain_graph=True`): people meet the backward-twice error, keep the graph, and then meet an
    in-place error, because a step has changed what the old graph saved. Or it did not reach the node, the last that its
    iteration made. What is wrong is in both cases that the old graph is reached at all.
    """
    before = [p for p in trace.passes if p.when < used.when and p.stack == used.stack]
    for p in reversed(before):
        if p.retain and p.walked is not None and node.number in p.walked:
            same = set(p.roots or ()) & set(used.roots or ())
            return p if same or _has_new(trace, used, p) else None
    last = before[-1] if before else None
    if last is None or node.when is None or not node.when < last.when or not _goes_on(node, used):
        return None
    return last if _has_new(trace, used, last) else None


def _has_new(trace: Trace, used: Pass, since: Pass) -> bool:
    """Whether a pass walks anything that was built after another. All of it being old, it is a loss that was made before
    the step and not an iteration that goes on."""
    history = (n for n in trace.history(*(used.roots or ())) if n.leaf is None)
    return any(n.when is None or (n.when >= since.when and not is_linear(n)) for n in history)


def _goes_on(node: Node, used: Pass) -> bool:
    """Whether a node was built in an earlier iteration of a loop that a pass is in."""
    built = {(x.file, x.line): x.count for x in node.loops or ()}
    return any(built.get((x.file, x.line), x.count) < x.count for x in used.loops or ())


class Border:
    """The two passes of a meeting with spent history, and where old history enters the new."""

    def __init__(self, trace: Trace, failure: Failure, used: Pass, node: Node) -> None:
        self.trace, self.failure, self.used, self.node = trace, failure, used, node

    # -- the two passes ----------------------------------------------------------------------------------------------

    @cached_property
    def freed(self) -> Pass | None:
        """The pass that spent the failing node (or, for an in-place error, kept it)."""
        if self.changed:
            return kept_from_before(self.trace, self.node, self.used)
        before = [p for p in self.trace.passes if p.when < self.used.when and p.frees]
        known = [p for p in before if p.walked is not None and self.node.number in p.walked]
        if known:
            return known[-1]
        can = [p for p in before if p.walked is None and (self.node.when is None or self.node.when < p.when)]
        reach = [p for p in can if not p.roots or max(p.roots) >= self.node.number]
        return reach[0] if reach else can[-1] if can else None

    @property
    def changed(self) -> bool:
        """Whether the old history is still there, but not the values that it needs."""
        return self.failure.kind == "inplace"

    @cached_property
    def same_site(self) -> bool:
        """Whether both passes are the same call, reached in the same way."""
        return self.freed is not None and self.freed.stack == self.used.stack and bool(self.used.stack)

    @cached_property
    def same_call(self) -> bool:
        """Whether both ran inside one and the same outer pass: no pass that is not nested began in between."""
        freed = self.freed
        if freed is None:
            return False
        return not any(freed.when < p.when <= self.used.when and not p.nested for p in self.trace.passes)

    @cached_property
    def same_root(self) -> bool:
        """Whether both passes start from the same node."""
        return self.freed is not None and bool(set(self.freed.roots or ()) & set(self.used.roots or ()))

    # -- the border --------------------------------------------------------------------------------------------------

    def is_old(self, node: Node) -> bool:
        """Rule 2."""
        if self.freed is None or node.when is None:
            return bool(node.spent)
        if node.when < self.freed.when:
            return True
        loop = self._advanced
        if loop is None or node.loops is None:
            return False
        # Built after the first pass, but still in its iteration: `baseline = 0.9 * baseline + ...` below the backward.
        return any((x.file, x.line) == (loop.file, loop.line) and x.count == loop.count for x in node.loops)

    @cached_property
    def _advanced(self) -> Loop | None:
        """The innermost loop that went on between the two passes, as it stood at the first."""
        if self.freed is None or self.freed.loops is None or self.used.loops is None:
            return None
        now = {(x.file, x.line): x.count for x in self.used.loops}
        return next((x for x in self.freed.loops if now.get((x.file, x.line), x.count) > x.count), None)

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
        children: dict[int, list[int]] = {}
        for n in self.walked.values():
            for parent in n.parents or ():
                children.setdefault(parent, []).append(n.number)
        found, todo = {self.node.number}, [self.node.number]
        while todo:
            for child in children.get(todo.pop(), ()):
                if child not in found:
                    found.add(child)
                    todo.append(child)
        return found

    @cached_property
    def border(self) -> list[tuple[Node | None, Node]]:
        """(the node that consumes, the entry): see NOTE [ The border ]. The youngest entry comes first."""
        if self.fresh:
            found = self._edges(lambda n: not self.is_old(n))
            if found:
                return found
        found = self._edges(lambda n: not n.spent)
        if found:
            return found
        roots = [self.walked[r] for r in self.used.roots or () if r in self.walked]
        return [(None, r) for r in roots] or [(None, self.node)]

    def _edges(self, outside) -> list[tuple[Node | None, Node]]:  # type: ignore[no-untyped-def]
        found: list[tuple[Node | None, Node]] = []
        for n in self.walked.values():
            if n.leaf is not None or not outside(n):
                continue
            for number in n.parents or ():
                parent = self.walked.get(number)
                if parent is not None and parent.leaf is None and not outside(parent) and number in self._leading:
                    found.append((n, parent))
        return sorted(found, key=lambda e: -e[1].number)

    @cached_property
    def entry(self) -> Node:
        """Where old history enters."""
        return self.border[0][1]

    @cached_property
    def entries(self) -> list[Node]:
        """All the places where old history enters."""
        return list({e.number: e for _, e in self.border}.values())
