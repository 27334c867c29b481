# SPDX-License-Identifier: BSD-3-Clause
"""In-place errors: what was saved, who changed it, and what brings the old forward to the pass."""

from __future__ import annotations

from ...record import Carrier, Failure, Node, Pass, Place, Step, Trace, Write
from .lines import root_text
from .meeting import outdated
from .operations import is_view

__all__ = ["Change", "changes"]


class Change:
    """One in-place error."""

    def __init__(self, trace: Trace, failure: Failure) -> None:
        self.trace, self.failure = trace, failure
        self.used: Pass | None = trace.at(failure.when)
        self.node: Node | None = trace.nodes.get(failure.node) if failure.node is not None else None
        self.write: Write | None = self._writer()
        self.step: Step | None = next((s for s in trace.steps if self.write and s.when == self.write.when), None)

    def _writer(self) -> Write | None:
        """The first write after the tensor was saved that can have been it."""
        since = self.node.when if self.node is not None and self.node.when is not None else -1
        can = [w for w in self.trace.writes if since <= w.when <= self.failure.when]
        fits = [w for w in can if self.failure.leaf is None or w.leaf in (None, self.failure.leaf)]
        own = self._written_by()
        return next(iter([w for w in fits if w.place in own] or fits or can), None)

    def _written_by(self) -> set[Place]:
        """The statements that had written into what the failing node has saved: the graph says so where that is a view of it."""
        found, todo = set[Place](), list(self.node.parents or ()) if self.node is not None else []
        while todo:
            node = self.trace.nodes.get(todo.pop())
            if node is None:
                continue
            if node.op.endswith("CopySlices"):
                found |= {node.place} if node.place is not None else set()
            elif is_view(node):
                todo += node.parents or ()
        return found

    @property
    def is_parameter(self) -> bool:
        """Whether what changed is a parameter: a leaf that is trained."""
        return self.failure.leaf is not None or self.step is not None

    @property
    def other_network(self) -> bool:
        """Whether the step belongs to another optimizer than the one that this pass is for. A parameter that several
        optimizers own belongs to this pass too; an optimizer that owns nothing behind the pass has no part in it."""
        owners = [o for o in self.trace.owners if self.failure.leaf in o.leaves]
        roots = (self.used.roots if self.used else None) or ()
        behind = {p for n in self.trace.history(*roots) for p in n.parents or () if p < 0}
        players = [o for o in self.trace.owners if not behind or behind & set(o.leaves)]
        return self.step is not None and len(players) > 1 and len(owners) < 2

    @property
    def kept_apart(self) -> bool:
        """Whether what the step applied was cleared before this pass: behind it, the step would apply this pass's gradient."""
        step = self.step
        moved = set((step.leaves if step is not None else None) or ())
        between = [c for c in self.trace.clears if step is not None and step.when < c.when <= self.failure.when]
        return any(not moved.isdisjoint(c.leaves or ()) for c in between)

    def carrier(self) -> Carrier | None:
        """What brings the old forward to the pass: the youngest name that was there when the parameters changed."""
        if self.node is None:
            return None
        history = {n.number for n in self.trace.history(*((self.used.roots if self.used else None) or ()))}
        at = self.failure.when
        change = self.write.when if self.write is not None else at
        named = [b for b in self.trace.bindings if b.when == at and b.number in history]
        before = [b for b in named if (n := self.trace.nodes.get(b.number)) is not None and (n.when or -1) < change]
        best = min(before or named, key=lambda b: (b.kind == "slot", len(b.path.ways), -b.number), default=None)
        if best is not None:
            return Carrier(best.name, best.kind)
        root = root_text(self.trace, self.used)
        return Carrier(root, "local") if root else None


def changes(trace: Trace) -> list[Change]:
    """Every in-place error of a trace that is not about an earlier iteration's graph."""
    found = [Change(trace, f) for f in trace.failures if f.kind == "inplace"]
    return [c for c in found if not (c.node and c.used and outdated(trace, c.failure, c.node, c.used))]
