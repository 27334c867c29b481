# SPDX-License-Identifier: BSD-3-Clause
"""What became of gradients: which steps used them once, twice or never. See NOTE [ What a gradient is made of ] in `record`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ...record import Pass, Place, Step, Trace

__all__ = ["Series", "from_new_leaves", "never_applied", "series", "wasted"]


@dataclass(frozen=True, slots=True)
class Series:
    """The steps of one optimizer whose gradients were looked at, in order."""

    optimizer: str
    leaves: tuple[int, ...] | None
    steps: tuple[Step, ...]

    @property
    def closures(self) -> list[Step]:
        """The steps that ran passes inside."""
        return [s for s in self.steps if s.passes]

    @property
    def plain(self) -> list[Step]:
        return [s for s in self.steps if not s.passes]

    def used_before(self, step: Step, leaf: int) -> set[int]:
        """The passes whose gradients earlier steps have applied to a leaf."""
        found: set[int] = set()
        for s in self.steps:
            if s.when < step.when:
                found |= set(s.used.get(leaf) or ())
        return found

    def piled(self, step: Step) -> list[int]:
        """The leaves whose gradient still had in it what an earlier step had applied, with something new on top."""
        return [n for n, g in step.used.items() if g and (old := self.used_before(step, n)) & set(g) and set(g) - old]

    def stale(self, step: Step) -> list[int]:
        """The leaves whose gradient was nothing but what an earlier step had applied, and had moved them with."""
        moved = {n for s in self.steps if s.when < step.when for n in (s.moved if s.moved is not None else s.used)}
        return [n for n, g in step.used.items() if g and n in moved and set(g) <= self.used_before(step, n)]

    def left_over(self, trace: Trace, step: Step) -> Pass | None:
        """The pass of another optimizer that left a gradient here in an earlier iteration, which this step has applied together
        with one of its own: nobody cleared it in between.

        A pass is another's if that optimizer's step used it, and used nothing of the pass of this iteration that this step is
        for. In every iteration it comes after this step: a pass that is accumulated on purpose comes before it, too.
        """
        passes = {w for g in step.used.values() for w in g or ()}
        known = [p for p in trace.passes if p.when in passes]
        own = [p for p in known if p.iteration == step.iteration]
        old = [
            p for p in known if p.iteration is not None and step.iteration is not None and p.iteration < step.iteration
        ]
        if not own or not old or any(p.place == o.place for p in own for o in old):
            return None
        last = old[-1]
        between = [s for s in trace.steps if last.when < s.when < own[0].when and s.leaves != self.leaves]
        theirs = [s for s in between if any(last.when in (g or ()) for g in s.used.values())]
        if not theirs or any(s.when > step.when and _uses(s, own) for s in trace.steps if s.leaves == theirs[0].leaves):
            return None
        again = (p for p in trace.passes if p.when > step.when and p.iteration == step.iteration)
        return last if any(p.place == last.place for p in again) else None

    def aside(self, trace: Trace, step: Step) -> list[Pass]:
        """The passes that were made for the gradient of something else (an attack's perturbation), and whose gradients of these
        leaves this step has applied all the same, together with one that came after them and was made for it.

        That they were for something else shows in what the program did with it: it moved, by hand and by their gradients, a
        leaf that belongs to no optimizer and no module, or made another such leaf for each of them, while they were repeated;
        and the last pass has nothing to do with such leaves. A pass whose gradients are added to another's on purpose is made
        once, or it is the last, too.
        """
        ours = {n for o in trace.owners for n in o.leaves} | set(trace.held or ()) | set(self.leaves or ())
        by_hand = [(n, w) for s in trace.steps if not s.optimizer for n, g in s.used.items() for w in g or ()]
        made_for = {w for n, w in by_hand if n not in ours}
        sites = {p.stack for p in trace.passes if p.when in made_for}
        strange: dict[tuple[Place, ...], list[set[int]]] = {}
        for p in trace.passes:
            if p.walked and p.kind == "backward":
                strange.setdefault(p.stack, []).append({n for n in p.walked if n < 0} - ours)
        sites |= {k for k, each in strange.items() if all(each) and len(set().union(*each)) == sum(map(len, each))}
        free = {k for k, each in strange.items() if not any(each)}  # what was not looked at is as its likes
        used = {w for g in step.used.values() for w in g or ()}
        known = [p for p in trace.passes if p.when in used]
        aside = [p for p in known if p.stack in sites]
        own = [p for p in known if aside and p.when > aside[-1].when]
        if any(p.given for p in (*aside, *own)):
            return []  # what one of them gave a leaf is sent on through the next, by hand
        if self.optimizer and len(aside) > 1 and own and all(p.stack in free for p in own):
            return aside
        return []

    def wiped(self, trace: Trace, before: Step, step: Step) -> list[int]:
        """The leaves that a pass between two steps had filled, and that had no gradient left at the second."""
        empty = {n for n, g in step.used.items() if g == ()}
        filled = {n for p in _between(trace, before.when, step.when) for n in p.filled or ()}
        return sorted(empty & filled)

    def pairs(self) -> Iterator[tuple[Step, Step]]:
        return pairwise(self.steps)


def _uses(step: Step, passes: list[Pass]) -> bool:
    return any(p.when in (g or ()) for g in step.used.values() for p in passes)


def _between(trace: Trace, start: int, end: int) -> list[Pass]:
    """What a failed pass has left is cleared on purpose; what one inside a step has left, that step has used."""
    inner = {w for s in trace.steps for w in s.passes}
    return [
        p
        for p in trace.passes
        if p.kind == "backward" and p.outcome == "ok" and start < p.when < end and p.when not in inner
    ]


def series(trace: Trace) -> list[Series]:
    """The steps of every optimizer (and those made by hand)."""
    found: dict[tuple[str, object], list[Step]] = {}
    for step in trace.steps:
        if step.used:
            found.setdefault((step.optimizer, step.leaves), []).append(step)
    return [Series(name, leaves, tuple(steps)) for (name, leaves), steps in found.items()]  # type: ignore[arg-type]


def wasted(trace: Trace, one: Pass) -> bool | None:
    """Whether everything that a pass filled was cleared before any step used it; None where that cannot be told.

    What the program itself put into a gradient afterwards may have been made of it: then nothing is known.
    """
    if not one.filled or one.inputs is not None or one.read:
        return None  # nobody looked, or the program itself did: that may be what it was for
    later_steps = [s for s in trace.steps if s.when > one.when and s.used]
    left = set(one.filled)
    for leaf in one.filled:
        gone = next((c.when for c in trace.clears if c.when > one.when and leaf in (c.leaves or ())), None)
        for step in later_steps:
            gradient = step.used.get(leaf, ())
            if gone is not None and step.when > gone:
                if gradient is None:
                    return None  # somebody's own
                break
            if gradient is None:
                return None
            if one.when in gradient:
                return False
        if gone is None:
            return None
        left.discard(leaf)
    return not left


def never_applied(trace: Trace) -> list[list[Pass]]:
    """Passes of one place that each found there what those before had left, one on top of the other, and of whose gradients no
    step has ever made use. What else they fill, that belongs to nobody, may be all that is read."""
    ours = {n for o in trace.owners for n in o.leaves} | set(trace.held or ())
    used = {w for s in trace.steps for g in s.used.values() for w in g or ()}
    sites: dict[tuple[Place, ...], list[Pass]] = {}
    for p in trace.passes:
        if p.kind == "backward" and p.filled and p.found:
            sites.setdefault(p.stack, []).append(p)
    runs = []
    for passes in sites.values():
        whens = [p.when for p in passes]
        others = any(n < 0 and n not in ours for p in passes for n in p.walked or ())
        if others or not used.isdisjoint(whens) or any(g is None for p in passes for g in p.found.values()):
            continue
        piled = [passes[0]]
        for before, p in pairwise(passes):
            if all(before.when in (g or ()) for g in p.found.values()):
                piled.append(p)
            elif len(piled) < 3:
                piled = [p]
        if trace.ended or any(c.when >= piled[-1].when for c in trace.clears):  # else a step may be still to come
            runs.append(piled)
    return runs


def from_new_leaves(trace: Trace) -> list[Pass]:
    """Passes that end where they begin: in leaves that nobody trains and that were made for this one pass, values that were told to
    require a gradient (`torch.tensor(losses, requires_grad=True).mean()`)."""
    owned = {n for o in trace.owners for n in o.leaves}
    ends: dict[int, set[int]] = {}
    for p in trace.passes:
        if p.kind == "backward" and not p.nested and p.roots:
            ends[p.when] = set(p.roots) if max(p.roots) < 0 else {n for n in p.walked or () if n < 0}
    often = Counter(n for leaves in ends.values() for n in leaves)
    trains = any(owned.intersection(p.walked or ()) for p in trace.passes)
    found = []
    for p in trace.passes:
        leaves = ends.get(p.when)
        if p.roots and leaves and not leaves & owned:
            # Where others train, what ends in new leaves may be half of a pass: its gradients are sent on by hand.
            if max(p.roots) < 0 or (not trains and all(often[n] == 1 for n in leaves)):
                found.append(p)
    return found
