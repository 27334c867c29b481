# SPDX-License-Identifier: BSD-3-Clause
"""An accumulator of losses keeps old graphs and is itself sent through again.

## What happened

A running sum collects losses (`total = total + loss`, an average meter, a list
that is summed up), and the sum itself went through a pass. In the next
iteration it got one loss more and went through again: together with the old
losses, whose graphs the first pass had freed.

## Why PyTorch refuses

A sum of tensors has all their histories. The sum itself saves nothing and
could be walked again, but behind it stand the graphs of the earlier losses,
and those are freed.

## How to tell

The first pass over the sum is fine, the second fails, and between them the
sum was added to and not started anew. `backward()` is called on the
accumulator, not on the loss of this iteration.

## Remedies

- **item**: where the sum is for reporting, let it be a number
  (`total += loss.item()`) and send only the new loss through.
- **detach**: `total += loss.detach()` does the same, stays on the device and
  waits for nothing.
- **combine-losses**: where several losses should count in one step, sum them
  up, send the sum through once, after the loop, and step once.
- **other**: where the sum is sent through every few iterations, start it anew
  right after each pass.

Gradients add up by themselves: calling `loss.backward()` in each iteration and
`step()` after the last of them gives the gradient of the sum, with one graph
alive at a time.

## Example

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = torch.zeros(())
for step in range(3):
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    total = total + ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    total.backward()  # step 1: RuntimeError, backward ... a second time
    optimizer.step()
```

The sum is for the report:

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for step in range(3):
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
```

## What people do instead, and why not

`retain_graph=True`: the gradients of every earlier loss are then counted again
in every iteration, with the values from before the steps, and all graphs stay
in memory. It may run; what it minimizes is something else. Where it runs, this
cause is told as a warning: a pass sends a sum through whose other term an
earlier pass has sent through already, and the gradients of both are applied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..record import Carrier, Finding, Node, Pass, Trace
from ._finding import about_meeting, pass_evidence, quoted, remedy, warning
from .facts.lines import root_text
from .facts.meeting import Meeting
from .facts.names import Named
from .facts.operations import adds, scales

CODE = "SP105"
TITLE = "an accumulator of losses keeps old graphs and is sent through again"
REMEDIES = ("item", "combine-losses", "detach", "other")
TRIED = ("other", "item", "detach", "combine-losses")
INSTEAD = "`retain_graph=True` would count the gradients of the earlier losses again."
TELLS_FOR = ("graph-leak", "needless-retain")

_TIMES = 3
"""Passes that must show it where nothing fails: one may be meant, once."""


def explain(meeting: Meeting) -> Finding:
    """Either the accumulator is what goes through backward by mistake, or it should have started anew."""
    carrier = _sum(meeting) or Named(meeting).carrier("then")
    name = carrier.name if carrier else ""
    root = root_text(meeting.trace, meeting.used)
    shown = quoted(name, "the running sum")
    message = (
        f"{shown} still holds the losses of earlier iterations, whose graphs are gone, and is sent "
        "through backward with the new one."
    )
    own = remedy(
        "other",
        f"start {shown} anew after every backward",
        "What has been through backward must not go through again: its gradients are already counted.",
        target=name,
        place=meeting.entry.place,
    )
    number = remedy(
        "item",
        f"keep {shown} as a number and send only the new loss through backward",
        "An accumulator for reporting needs values, not history; `.item()` or `.detach()` gives them.",
        target=name,
        place=meeting.entry.place,
    )
    # Several losses a pass are a sum that should start anew; one loss a pass is a log of them.
    same = root.replace("'", '"') in (name, name.rpartition(".")[2])
    summed = bool(name) and (same or _several(meeting)) and not _one_each(meeting)
    # What is one term among others is there to be trained on.
    summed = summed or _one_term(meeting)
    remedies = [own, number] if summed else [number, own]
    return about_meeting(CODE, "accumulated-loss", meeting, message, carrier, remedies, accumulator=name)


def diagnose(trace: Trace) -> list[Finding]:
    """Call sites that send a sum through again and again, one of whose terms an earlier pass had sent through already, and
    kept: nothing fails, and what that term gives is counted by both."""
    if any(f.kind != "other" and not f.swallowed for f in trace.failures):
        return []
    sent: dict[int, Pass] = {}
    sites: dict[object, list[tuple[Pass, Pass]]] = defaultdict(list)
    for p in trace.passes:
        if p.kind != "backward" or p.nested or p.inputs is not None or p.outcome != "ok" or len(p.roots or ()) != 1:
            continue
        losses = list(_losses(trace, p))
        before = [sent[n] for n in losses[1:] if n in sent]
        if before and any(_counts_too(trace, b, p) for b in before):
            sites[p.stack].append((before[0], p))
        if losses and p.retain and not p.create:
            sent.setdefault(losses[0], p)
    return [_counted_again(trace, *found[0]) for found in sites.values() if len(found) >= _TIMES]


def _losses(trace: Trace, one: Pass) -> Iterator[int]:
    """What a pass starts from, without its scaling, and then the terms that it is a sum of."""
    todo, first = list(one.roots or ()), True
    while todo:
        number = todo.pop()
        op, parents = one.heads.get(number, ("", ()))
        node = trace.nodes.get(number) or Node(number, op, parents)
        known = bool(node.op) and (adds(node) or scales(node))
        if not first or not known or len(node.parents or ()) > 1:
            yield number
            first = False
        if known:
            todo += node.parents or ()


def _counts_too(trace: Trace, earlier: Pass, later: Pass) -> bool:
    """Whether what an earlier pass gave is applied as well: it is still there, or a step has used it."""
    return any(earlier.when in (g or ()) for g in later.found.values()) or any(
        earlier.when in (g or ()) for s in trace.steps for g in s.used.values()
    )


def _counted_again(trace: Trace, earlier: Pass, later: Pass) -> Finding:
    summed = {*(later.roots or ()), next(_losses(trace, later))}
    held = [b for b in trace.bindings if b.when == later.when and b.number in summed]
    name = min((b.name for b in held), key=len, default="") or root_text(trace, later)
    shown = quoted(name, "the running sum")
    number = remedy(
        "item",
        f"keep {shown} as a number and send only the new loss through backward",
        "Gradients add up by themselves; an accumulator for reporting needs values, not history.",
        target=name,
        place=later.place,
    )
    once = remedy(
        "combine-losses",
        f"send {shown} through once, when its last loss has been added",
        "One pass over the sum gives the gradient of each of its losses once.",
        target=name,
        place=later.place,
    )
    return warning(
        CODE,
        "accumulated-loss",
        f"{shown} still holds losses that an earlier backward has sent through: `retain_graph=True` keeps their graphs, "
        "and their gradients are counted again at every pass.",
        later.place,
        [number, once],
        carrier=Carrier(name, held[0].kind if held else "local") if name else None,
        used=later.place,
        evidence=pass_evidence(trace, later.when, {earlier.when: "sent", later.when: "sent again"}),
    )


def _sum(meeting: Meeting) -> Carrier | None:
    """The name that holds the sum, where no name was seen to hold what was added to it."""
    if any(b.number == meeting.entry.number for b in (*meeting.bound_now, *meeting.bound_then)):
        return None
    sums = {n.number for n in meeting.trace.history(*(meeting.used.roots or ())) if adds(n)}
    for b in meeting.trace.bindings:
        if b.when == meeting.used.when and b.number in sums:
            if any(n.number == meeting.entry.number for n in meeting.trace.history(b.number)):
                return Carrier(b.name, b.kind)
    return None


def _one_each(meeting: Meeting) -> bool:
    """Whether every turn of one loop adds one loss and makes one pass."""
    freed, used, built = meeting.freed, meeting.used.loops, meeting.entry.loops
    if freed is None or not freed.loops or not used or not built:
        return False
    a, b, c = freed.loops[0], used[0], built[0]
    return (a.file, a.line) == (b.file, b.line) == (c.file, c.line) and b.count - a.count == 1


def _several(meeting: Meeting) -> bool:
    """Whether more than one term was added since the first pass began: no single loss is what this pass is for."""
    return len({n.number for n in meeting.new if n.place is not None and n.place == meeting.entry.place}) > 1


def _one_term(meeting: Meeting) -> bool:
    """Whether the root has new terms that do not come by way of what was added to the entry."""
    sums = {n.number for n in meeting.way if n.place is not None and n.place == meeting.entry.place}
    behind = {n.number for n in meeting.trace.history(*sums)}
    return bool(sums) and any(n.number not in behind for n in meeting.fresh)
