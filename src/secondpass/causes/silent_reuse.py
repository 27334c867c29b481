# SPDX-License-Identifier: BSD-3-Clause
"""Freed history is walked again without an error, because its nodes saved nothing: gradients are counted twice.

## What happened

History was carried from one iteration to the next, just as in
`carried-state`, but every node in it is of the kind that saves nothing. No
pass complains. Each one walks the whole chain, back to the first iteration,
and adds the gradients of all earlier iterations to those of this one.

Or something was computed once, outside the loop, as in `hoisted-forward`: the
gradient still flows, but the value is that of the first parameters.

## Why PyTorch does not refuse

The check is made where a saved tensor is asked for. The derivative of a sum
needs none, so there is nothing to miss:

- never raise: `+`, `-`, `sum`, `mean`, `cat`, `stack`, slices, views,
  `expand`, `clone`, `lerp` with a constant weight;
- raise: `w * 2` and `w / 2` (they save a tensor even for a constant), `exp`,
  `tanh`, `matmul`, `**`, a product of two tensors.

So one and the same moving average crashes in one spelling and silently grows
in the other.

## How to tell

Every pass takes a little longer than the one before. Gradients grow linearly
with the iterations although `zero_grad()` is where it should be. A name that
is carried on has a `grad_fn` when an iteration begins.

## Remedies

- **detach**: cut where one iteration hands over to the next, as if it had
  failed: `average = average.detach() + ...`.
- **recompute**: what was computed once, from parameters that move, belongs
  into the loop.

## Example

```python
import torch

bias = torch.zeros(3, requires_grad=True)
drift = torch.zeros(3)
for step in range(6):
    bias.grad = None
    drift = drift + (torch.ones(3) - bias)
    drift.sum().backward()
print(bias.grad)  # all -6: every step so far is counted, not this one alone
```

With a cut, every pass sees its own step:

```python
import torch

bias = torch.zeros(3, requires_grad=True)
drift = torch.zeros(3)
for step in range(6):
    bias.grad = None
    drift = drift.detach() + (torch.ones(3) - bias)
    drift.sum().backward()
print(bias.grad)  # all -1
```

## What people do instead, and why not

They lower the learning rate, clip the gradients, or restart from a checkpoint
when training slows down: remedies for the symptom. Where another version of
the code failed with a backward-twice error, rewriting a `*` as a sum until
the error goes away turns a loud fault into this one. "It runs" is no sign
that history ends where it should: look at what is carried.
"""

from __future__ import annotations

from itertools import pairwise

from ..record import Binding, Carrier, Finding, Node, Pass, Trace
from ._finding import place_of, quoted, remedy, warning
from .facts.lines import source_of
from .facts.names import as_written
from .facts.operations import is_linear, is_view

CODE = "SP110"
TITLE = "freed history is walked again without an error: gradients are counted twice"
REMEDIES = ("detach", "recompute")
TRIED = ("detach", "recompute", "other")
CAUSED_BY = ("retain-graph",)
TELLS_FOR = ("graph-leak",)

_TIMES = 3
"""Passes that must show it: a single one may be a sum of two losses."""


def diagnose(trace: Trace) -> list[Finding]:
    """Call sites whose passes walk more and more of what earlier passes had walked and freed.

    A view of a parameter, or a sum made once, may be walked again rightly; so may a part that two losses of one step
    share: that is a sum. What grows from pass to pass, with steps between, is history that was carried on.
    """
    if any(f.kind != "other" and not f.swallowed for f in trace.failures):
        return []
    sites: dict[object, list[tuple[Pass, set[int]]]] = {}
    before: dict[int, Pass] = {}
    for p in trace.passes:
        if p.walked is not None and not p.nested:
            again = {
                n for n in p.walked if n in before and _counts(trace.nodes.get(n)) and _stepped(trace, before[n], p)
            }
            sites.setdefault(p.stack, []).append((p, again))
        if p.frees:
            before.update(dict.fromkeys(p.walked or (), p))
    found = []
    for seen in sites.values():
        # What is made anew by an outer loop is met for the first time, and then again, in each of its turns: that is no growth.
        first = next((p for p, now in seen if now), None)
        grown = [(p, now) for (_, last), (p, now) in pairwise(seen) if now > last and (last or p is first)]
        stale = [(p, old) for p, now in seen if (old := {n for n in now if _stale(trace, p, trace.nodes[n])})]
        if len(grown) >= _TIMES:
            found.append(_explain(trace, *grown[0], grows=True))
        elif len(stale) >= _TIMES:
            found.append(_explain(trace, *stale[0], grows=False))
    return found


def _stepped(trace: Trace, first: Pass, second: Pass) -> bool:
    """Whether a step lies between two passes; where nothing steps at all, iterations are all there is to go by."""
    if not trace.steps and not trace.owners:
        return first.iteration != second.iteration or first.stack != second.stack
    return any(first.when < s.when < second.when and s.moved != () for s in trace.steps)


def _stale(trace: Trace, used: Pass, node: Node) -> bool:
    """Whether a node that is walked again was computed from parameters that a step has changed since, and counts for more
    than a term of a sum: there a value that is out of date makes a wrong gradient."""
    if not _beyond_sums(trace, used, node):
        return False
    freed = next(
        (p for p in reversed(trace.passes) if p.when < used.when and p.walked and node.number in p.walked), None
    )
    leaves = {n.number for n in trace.history(node.number) if n.leaf is not None}
    leaves |= {p for n in trace.history(node.number) for p in n.parents or () if p < 0}
    return freed is not None and any(
        freed.when < s.when < used.when and s.moved != () and leaves & set(s.leaves or ()) for s in trace.steps
    )


def _beyond_sums(trace: Trace, used: Pass, node: Node) -> bool:
    """Whether the root depends on a node by more than sums and scalings."""
    straight, todo = set(), list(used.roots or ())
    while todo:
        one = trace.nodes.get(todo.pop())
        if one is not None and one.number not in straight:
            straight.add(one.number)
            todo += one.parents or () if is_linear(one) else ()
    beyond = [p for n in straight if not is_linear(trace.nodes[n]) for p in trace.nodes[n].parents or ()]
    return any(n.number == node.number for n in trace.history(*beyond))


def _counts(node: Node | None) -> bool:
    return node is not None and node.leaf is None and not is_view(node)


def _explain(trace: Trace, used: Pass, again: set[int], *, grows: bool) -> Finding:
    entry = trace.nodes[max(again)]
    freed = next(
        (p for p in reversed(trace.passes) if p.when < used.when and p.walked and entry.number in p.walked), None
    )
    names = [b for b in trace.bindings if b.number in again]
    written = [t for p in entry.stack if (s := source_of(trace, p)) is not None for t in s.targets(p.line)]

    def order(b: Binding) -> tuple[int, bool, int, int, int]:
        # What the statement itself gives its value to goes on; what its callers call the result they get anew.
        own = next((k for k, w in enumerate(written) if _last(w) == _last(b.name)), len(written))
        return own, b.kind == "slot", len(b.path.ways), len(b.name), -b.number

    best = min(names, key=order, default=None)
    name = as_written(trace, best.name, written) if best is not None else written[0] if written else ""
    place = entry.place or used.place
    it = quoted(name, "A tensor")
    if grows:
        message = (
            f"{it} brings history that a backward has already walked into the next one; nothing in it was "
            "saved, so PyTorch does not notice and counts its gradients again at every pass."
        )
    else:
        message = (
            f"{it} was computed once and is walked by every backward; it saved nothing, so PyTorch does not "
            "notice that the parameters behind it have moved since: its value is out of date."
        )
    remedies = [
        remedy(
            "detach",
            f"detach {quoted(name, 'it')} where it goes from one iteration to the next",
            "Its values should go on; its gradients have been counted.",
            target=name,
            place=place,
        ),
    ]
    if not grows:
        anew = remedy(
            "recompute",
            f"compute {quoted(name, 'it')} again in every iteration",
            "It depends on parameters that every step changes.",
            target=name,
            place=place,
        )
        remedies.insert(0, anew)
    evidence = [
        {
            "what": "node",
            "text": f"{len(again)} operations walked again at pass {used.when}, {entry.op} first",
            "place": place_of(place),
        }
    ]
    return warning(
        CODE,
        "silent-reuse",
        message,
        used.place,
        remedies,
        carrier=Carrier(name, best.kind if best is not None else "local") if name else None,
        built=entry.place,
        freed=freed.place if freed else None,
        used=used.place,
        evidence=evidence,
        built_stack=[place_of(p) for p in entry.stack],
    )


def _last(name: str) -> str:
    return name.rpartition(".")[2].partition("[")[0]
