# SPDX-License-Identifier: BSD-3-Clause
"""`retain_graph=True` that no later pass needs.

## What happened

A pass was told to keep its graph, and no later pass ever walked that graph
again. All its saved tensors stayed until the last name of it went away: in a
loop, through the next forward, so that two graphs are alive at the peak.

Often it is what is left of an old error: somebody added it, then repaired the
cause elsewhere, and it stayed.

## Why PyTorch does not refuse

Whether a graph will be needed again is known only when it was not. The
gradients are right. The price is memory, and the silence: with the flag in
place, history that is carried over by accident is no longer an error but a
pass that gets longer with every iteration.

## How to tell

Leave it out and run. If nothing fails, it was not needed. The finding says how
many bytes it kept.

## Remedies

- **drop-retain**: leave it out. Nothing else changes: the gradients are the
  same to the last bit.

Where several passes share a forward, only the last one may drop it, and then
it should. `create_graph=True` keeps the graph by itself and needs no second
flag.

## Example

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # no error: the graph stays for nobody
    optimizer.step()
```

Without it:

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## What people do instead, and why not

They leave it in, to be safe. It is not: it turns the error that would show a
fault into slow growth. Under `torch.compile` it is an error of its own, since
a compiled region hands its saved tensors on to be overwritten; with
checkpoints it keeps little and recomputes in every pass all the same.
"""

from __future__ import annotations

from ..record import Finding, Pass, Place, Trace
from ._finding import remedy, size, warning
from .facts.lines import source_of
from .facts.reads import reads_graph

CODE = "SP402"
TITLE = "retain_graph=True that no later pass needs"
REMEDIES = ("drop-retain",)
CAUSED_BY = ("create-graph", "retain-graph")
UNTRUE_AFTER = ("backward", "grad")
CHANGES_NOTHING = True


def diagnose(trace: Trace) -> list[Finding]:
    """Call sites that keep the graph every time, and whose graph was never walked again."""
    if any(not f.swallowed for f in trace.failures):
        return []
    sites: dict[object, list[Pass]] = {}
    for p in trace.passes:
        if p.retain and not p.create and not p.nested and p.place is not None and _is_users(trace, p):
            sites.setdefault(p.stack, []).append(p)
    found: list[Finding] = []
    seen = set()
    for passes in sites.values():
        known = [v for p in passes if (v := _needed(trace, p)) is not None]
        place = passes[0].place
        if known and not any(known) and (len(known) > 1 or trace.ended) and place not in seen:
            seen.add(place)
            found.append(_explain(passes))
    # A line that is needed by one caller is needed.
    kept = needed(trace)
    return [f for f in found if f.failed not in kept]


def needed(trace: Trace) -> set[Place]:
    """The lines that keep a graph which is walked again."""
    kept = (p for p in trace.passes if p.retain and not p.create and not p.nested)
    return {p.place for p in kept if p.place is not None and _needed(trace, p)}


def _is_users(trace: Trace, one: Pass) -> bool:
    """Whether it is the user who keeps the graph, not a library on its way through something else."""
    if one.direct is not None:
        return one.direct
    source = source_of(trace, one.place)
    return source is None or one.place is None or trace.producer != "watch" or "retain" in source.text(one.place.line)


def _needed(trace: Trace, one: Pass) -> bool | None:
    """Whether a later pass walked what this one kept, or the program reads it; None where it cannot be told."""
    later = [p for p in trace.passes if p.when > one.when]
    if any(set(one.roots or ()) & set(p.roots or ()) for p in later):
        return True  # whatever is behind it
    if one.walked is None:
        return None
    own = {n for n in one.walked if n >= 0}
    for p in later:
        if p.walked is not None and own & p.walked:
            return True
    if reads_graph(trace, one):
        return True
    # What was not looked at may have walked it, up to the next visit of this place, when the graph is another.
    until = next((p.when for p in later if p.stack == one.stack), None)
    if until is None and not trace.ended:
        return None
    if any(p.walked is None for p in later if until is None or p.when <= until):
        return None
    return False


def _explain(passes: list[Pass]) -> Finding:
    place = passes[0].place
    kept = max((p.kept_bytes or 0 for p in passes), default=0)
    cost = f"; it kept {size(kept)} of saved tensors alive" if kept else ""
    message = f"retain_graph=True is not needed: no later pass walked that graph again{cost}."
    remedies = [
        remedy(
            "drop-retain",
            "leave out retain_graph=True",
            "Without it the backward frees the saved tensors as it goes; gradients stay the same.",
            safe=True,
            place=place,
        )
    ]
    evidence = [{"what": "bytes", "text": f"kept {size(kept)} after the pass", "bytes": kept}] if kept else []
    return warning(CODE, "needless-retain", message, place, remedies, evidence=evidence)
