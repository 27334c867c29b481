# SPDX-License-Identifier: BSD-3-Clause
"""Spent history is walked again without an error, because its nodes saved nothing: gradients are counted twice.

## What happened

History was carried from one iteration to the next, just as in
`carried-state`, but every node in it is of the kind that saves nothing. No
pass complains. Each one walks the whole chain, back to the first iteration,
and adds the gradients of all earlier iterations to those of this one.

Or something was computed once, outside the loop, as in `hoisted-forward`: the
gradient still flows, but the value is that of the first parameters.

## Why PyTorch does not refuse

The check is made where a buffer is asked for. The derivative of a sum needs no
buffer, so there is nothing to miss:

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
import secondpass.autograd as torch

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
import secondpass.autograd as torch

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

from ..record import Carrier, Finding, Node, Pass, Trace
from ._finding import _place, quoted, remedy
from ._linear import is_linear
from ._silent import warning
from ._source import source_of

CODE = "SP110"
TITLE = "spent history is walked again without an error: gradients are counted twice"
REMEDIES = ("detach", "recompute")

_VIEWS = (
    "View",
    "T",
    "Transpose",
    "Permute",
    "Expand",
    "Slice",
    "Select",
    "Squeeze",
    "Unsqueeze",
    "Alias",
    "AsStrided",
    "Unbind",
    "Split",
    "ReshapeAlias",
    "UnsafeView",
    "Narrow",
    "Detach",
)
_TIMES = 3


def diagnose(trace: Trace) -> list[Finding]:
    """Call sites whose passes walk more and more of what earlier passes had walked and freed.

    A view of a parameter, or a sum made once, may be walked again rightly; what grows from pass to pass is history that
    was carried on.
    """
    if any(f.kind != "other" and not f.swallowed for f in trace.failures):
        return []
    sites: dict[object, list[tuple[Pass, set[int]]]] = {}
    before: set[int] = set()
    for p in trace.passes:
        walked = p.walked or frozenset()
        if p.walked is not None and not p.nested:
            sites.setdefault(p.stack, []).append((p, {n for n in walked & before if _counts(trace.nodes.get(n))}))
        if p.frees:
            before |= walked
    found = []
    for seen in sites.values():
        grown = [(p, now) for (_, last), (p, now) in pairwise(seen) if len(now) > len(last)]
        stale = [(p, old) for p, now in seen if (old := {n for n in now if _stale(trace, p, trace.nodes[n])})]
        if len(grown) >= _TIMES:
            found.append(_explain(trace, *grown[0], grows=True))
        elif len(stale) >= _TIMES:
            found.append(_explain(trace, *stale[0], grows=False))
    return found


def _stale(trace: Trace, used: Pass, node: Node) -> bool:
    """Whether a node that is walked again was computed from parameters that a step has changed since."""
    if not (_bent(trace, used, node) if node.bent is None else node.bent):
        return False
    freed = next(
        (p for p in reversed(trace.passes) if p.when < used.when and p.walked and node.number in p.walked), None
    )
    leaves = {n.number for n in trace.history(node.number) if n.leaf is not None} | set(node.parents or ())
    return freed is not None and any(
        freed.when < s.when < used.when and leaves & set(s.leaves or ()) for s in trace.steps
    )


def _bent(trace: Trace, used: Pass, node: Node) -> bool:
    """Whether the root depends on a node by more than sums and scalings, where the producer has not said."""
    straight, todo = set(), list(used.roots or ())
    while todo:
        one = trace.nodes.get(todo.pop())
        if one is not None and one.number not in straight:
            straight.add(one.number)
            todo += one.parents or () if is_linear(one) else ()
    beyond = [p for n in straight if not is_linear(trace.nodes[n]) for p in trace.nodes[n].parents or ()]
    return any(n.number == node.number for n in trace.history(*beyond))


def _counts(node: Node | None) -> bool:
    return node is not None and node.leaf is None and node.op.partition("Backward")[0] not in _VIEWS


def _explain(trace: Trace, used: Pass, again: set[int], *, grows: bool) -> Finding:
    entry = trace.nodes[max(again)]
    freed = next(
        (p for p in reversed(trace.passes) if p.when < used.when and p.walked and entry.number in p.walked), None
    )
    names = [s for s in trace.sightings if s.number in again]
    written = [t for p in entry.stack if (s := source_of(trace, p)) is not None for t in s.targets(p.line)]
    best = sorted(names, key=lambda s: (s.kind == "slot", s.name.count("."), len(s.name), -s.number))
    name = best[0].name if best else written[0] if written else ""
    place = entry.place or used.place
    stale = (
        f"{quoted(name, 'A tensor')} was computed once and is walked by every backward; it saved "
        "nothing, so PyTorch does not "
        f"notice that the parameters behind it have moved since: its value is out of date."
    )
    message = (
        stale
        if not grows
        else (
            f"{quoted(name, 'A tensor')} brings history that a backward has already walked into the next "
            "one; nothing in it was "
            f"saved, so PyTorch does not notice and counts its gradients again at every pass."
        )
    )
    again_each_time = remedy(
        "recompute",
        f"compute {quoted(name, 'it')} again in every iteration",
        "It depends on parameters that every step changes.",
        target=name,
        place=place,
    )
    remedies = [] if grows else [again_each_time]
    remedies += [
        remedy(
            "detach",
            f"detach {quoted(name, 'it')} where it goes from one iteration to the next",
            "Its values should go on; its gradients have been counted.",
            target=name,
            place=place,
        ),
    ]
    evidence = [
        {
            "what": "node",
            "text": f"{len(again)} operations walked again at pass {used.when}, {entry.op} first",
            "place": _place(place),
        }
    ]
    return warning(
        CODE,
        "silent-reuse",
        message,
        used.place,
        remedies,
        carrier=Carrier(name, best[0].kind if best else "local") if name else None,
        built=entry.place,
        freed=freed.place if freed else None,
        used=used.place,
        evidence=evidence,
    )
