# SPDX-License-Identifier: BSD-3-Clause
"""Which gradients a step applied that DistributedDataParallel had not averaged, and why not.

The fact that decides is what the reducer itself was given in each pass (`Pass.reduced`): a pass that fills the gradient
of a parameter without handing it over leaves it to this rank alone, unless a later pass hands the sum over before a step
applies it (that is what `no_sync()` is for).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ...record import Forward, Parallel, Pass, Place, Step, Trace

__all__ = ["Alone", "Way", "alone", "covering", "modules_of", "open_pass", "way_of"]

Way = Literal["again", "forwards", "no_sync", "direct", "checkpoint"]
"""A second pass over one forward; two forwards and then two passes; a forward under `no_sync()`; the module called by
itself; a pass within a pass, of a reentrant checkpoint."""

_FEW = 2
_FORWARDS = 128
"""So many forwards are remembered: where there were more, one that is not among them may have been."""


@dataclass(frozen=True, slots=True)
class Alone:
    """A pass whose gradients were applied by a step without having been averaged."""

    trace: Trace
    module: Parallel
    used: Pass
    step: Step
    way: Way
    earlier: Pass | None
    """The pass that was averaged instead."""
    forward: Forward | None
    again: bool = False
    """Whether it was seen at several steps."""

    @property
    def by_chance(self) -> bool:
        """Whether it may be that a gradient was handed over at the same time as before, to the nanosecond."""
        return not self.again and len(self.module.leaves) <= _FEW

    @property
    def digests(self) -> dict[str, int]:
        """What the parameters were after each step that followed such a pass: the same on all ranks, or not."""
        return {str(s.iteration): s.digest for s in self.trace.steps if s.digest is not None and s.iteration}


def alone(trace: Trace) -> Iterator[Alone]:
    """The first of each place."""
    for index, module in enumerate(trace.parallels):
        if module.ranks == 1:
            continue
        seen: dict[tuple[Place, ...], Alone] = {}
        for step, used in _applied(trace, index, module):
            known = seen.get(used.stack)
            if known is not None:
                seen[used.stack] = replace(known, again=known.again or step != known.step)
            elif (found := way_of(trace, index, used)) is not None:
                seen[used.stack] = Alone(trace, module, used, step, *found)
        yield from seen.values()


def _applied(trace: Trace, index: int, module: Parallel) -> Iterator[tuple[Step, Pass]]:
    """Steps, and the last pass in the gradients that they applied, where it was not averaged."""
    passes = {p.when: p for p in trace.passes}
    leaves = set(module.leaves)
    for step in trace.steps:
        for leaf, made in step.used.items():
            if leaf not in leaves or not made or any(w not in passes or index not in passes[w].reduced for w in made):
                continue
            # The last one tells: had it been averaged, what was accumulated before it would have been as well.
            used = passes[made[-1]]
            if not used.reduced[index] and not _around(trace, index, used, leaf):
                yield step, used


def _around(trace: Trace, index: int, used: Pass, leaf: int) -> bool:
    """Whether the pass around a pass handed the leaf over after it."""
    outer = trace.around(used)
    if outer is None or leaf not in outer.reduced.get(index, ()):
        return False
    until = next((p.when for p in trace.passes if p.when > outer.when and not p.nested), None)
    within = [p for p in trace.passes if p.nested and p.when > outer.when and (until is None or p.when < until)]
    return not any(leaf in p.reduced.get(index, ()) for p in within)


def way_of(trace: Trace, index: int, used: Pass) -> tuple[Way, Pass | None, Forward | None] | None:
    """Why a pass was not averaged; None where that cannot be told."""
    forward = covering(trace, index, used)
    before = [p for p in trace.passes if p.when < used.when and p.reduced.get(index)]
    if used.nested:
        outer = trace.around(used)
        return (
            "checkpoint",
            before[-1] if before else None,
            forward or (covering(trace, index, outer) if outer is not None else None),
        )
    if forward is None:
        calls = [f for f in trace.forwards if f.parallel == index]
        known = used.walked is not None and len(calls) < _FORWARDS and trace.all_forwards is not False
        return ("direct", None, None) if known else None
    if forward.synchronises is False:
        return "no_sync", None, forward
    over = [p for p in before if covering(trace, index, p) == forward]
    if over:
        return "again", over[-1], forward
    since = [p for p in before if p.number is not None and p.number >= (forward.ended or 0)]
    return ("forwards", since[-1], forward) if since else None


def covering(trace: Trace, index: int, one: Pass) -> Forward | None:
    """The forward whose nodes a pass walked: the last one, of several."""
    calls = [f for f in trace.forwards if f.parallel == index and f.ended is not None and f.thread == one.thread]
    number = one.number if one.number is not None else 0
    calls = [f for f in calls if f.began <= number]
    if one.walked is None:
        return calls[-1] if calls and trace.all_forwards is not False else None
    return next((f for f in reversed(calls) if any(f.began <= n < (f.ended or 0) for n in one.walked)), None)


def modules_of(names: list[str], others: list[str]) -> list[str]:
    """The largest modules that have only parameters among `names`, and none among `others`: `head` for its two."""
    found: dict[str, None] = {}
    for name in names:
        parts = name.split(".")
        for k in range(1, len(parts) + 1):
            prefix = ".".join(parts[:k])
            if not any(o == prefix or o.startswith(prefix + ".") for o in others):
                found[prefix] = None
                break
        else:
            found[name] = None
    return list(found)


def open_pass(trace: Trace, index: int, before: int) -> Pass | None:
    """The last pass, up to a moment, that handed gradients over."""
    found = (p for p in reversed(trace.passes) if p.when <= before and not p.nested and p.reduced.get(index))
    return next(found, None)
