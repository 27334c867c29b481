# SPDX-License-Identifier: BSD-3-Clause
"""What is known of a buffer that was changed in place before its pass came."""

from __future__ import annotations

from typing import Any

from ..record import Carrier, Failure, Finding, Node, Pass, Remedy, Step, Trace, Write
from ._border import kept_from_before
from ._finding import _place, pass_evidence, root_text

__all__ = ["Changed", "about_change", "changes"]


class Changed:
    """One in-place error."""

    def __init__(self, trace: Trace, failure: Failure) -> None:
        self.trace, self.failure = trace, failure
        self.used: Pass | None = trace.at(failure.when)
        self.node: Node | None = trace.nodes.get(failure.node) if failure.node is not None else None
        self.write: Write | None = self._writer()
        self.step: Step | None = next((s for s in trace.steps if self.write and s.when == self.write.when), None)

    def _writer(self) -> Write | None:
        """The first write after the buffer was saved that can have been it."""
        since = self.node.when if self.node is not None and self.node.when is not None else -1
        can = [w for w in self.trace.writes if since <= w.when <= self.failure.when]
        fits = [w for w in can if self.failure.leaf is None or w.leaf in (None, self.failure.leaf)]
        return (fits or can or [None])[0]  # type: ignore[list-item]

    @property
    def is_parameter(self) -> bool:
        """Whether what changed is a parameter: a leaf that is trained."""
        return self.failure.leaf is not None or self.step is not None

    @property
    def other_network(self) -> bool:
        """Whether the step belongs to another optimizer than the one that this pass is for. A parameter that several
        optimizers own belongs to this pass too."""
        owners = [o for o in self.trace.owners if self.failure.leaf in o.leaves]
        return self.step is not None and len(self.trace.owners) > 1 and len(owners) < 2

    def carrier(self) -> Carrier | None:
        """What brings the old forward to the pass: the youngest name that was there when the parameters changed."""
        if self.node is None:
            return None
        history = {n.number for n in self.trace.history(*((self.used.roots if self.used else None) or ()))}
        at = self.failure.when
        change = self.write.when if self.write is not None else at
        named = [s for s in self.trace.sightings if s.when == at and s.number in history]
        before = [s for s in named if (n := self.trace.nodes.get(s.number)) is not None and (n.when or -1) < change]
        best = sorted(before or named, key=lambda s: (s.kind == "slot", s.name.count("."), -s.number))
        if best:
            return Carrier(best[0].name, best[0].kind)
        root = root_text(self.trace, self.used)
        return Carrier(root, "local") if root else None


def changes(trace: Trace) -> list[Changed]:
    """Every in-place error of a trace."""
    found = [Changed(trace, f) for f in trace.failures if f.kind == "inplace"]
    return [c for c in found if not (c.node and c.used and kept_from_before(trace, c.node, c.used))]


def about_change(code: str, cause: str, change: Changed, message: str, remedies: list[Remedy]) -> Finding:
    """The finding of an in-place error: built is the forward, freed is the writer."""
    write, used = change.write, change.used
    labels = {change.failure.when: "failed"}
    if change.step is not None:
        labels[change.step.when] = "changed"
    evidence: list[dict[str, Any]] = pass_evidence(change.trace, change.failure.when, labels)
    if change.node is not None:
        op = change.node.op
        evidence.append({"what": "node", "text": f"{op} saved it (as `{change.failure.saved}`)", "op": op})
    carrier = change.carrier() if cause == "step-between" else None
    if cause == "inplace-change":
        name = write.target if write and write.target else change.failure.names[0] if change.failure.names else ""
        carrier = Carrier(name, "local") if name else None
    return Finding(
        code=code,
        cause=cause,
        severity="error",
        message=message,
        failed=change.failure.place,
        carrier=carrier,
        built=change.node.place if change.node is not None else None,
        freed=write.place if write is not None else None,
        used=used.place if used is not None else None,
        evidence=tuple(evidence),
        remedies=tuple(remedies),
        sure=write is not None and write.place is not None,
        facts={
            "root": root_text(change.trace, used),
            "writer": _place(write.place) if write is not None else None,
            "how": write.how if write is not None else "",
            "used_stack": [_place(p) for p in used.stack] if used is not None else [],
            "built_stack": [_place(p) for p in change.node.stack] if change.node is not None else [],
        },
    )
