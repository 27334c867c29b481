# SPDX-License-Identifier: BSD-3-Clause
"""Tensors with history are collected and memory grows.

## What happened

A list, a meter, an attribute or a running sum takes in a tensor per iteration
and keeps it, history and all. Its graph cannot die while somebody holds its
end. With every step more of it stays, and after some hours the program is out
of memory in a line that has nothing to do with it.

## Why PyTorch does not refuse

Keeping a tensor is no mistake. What it costs depends on what has been walked:

- a loss that has been through its pass holds only the skeleton of its graph:
  nodes without saved tensors. That grows slowly, in ordinary memory;
- a tensor whose branch no pass has walked (an auxiliary output, predictions
  in validation) holds all its activations. That grows fast, on the device;
- under `retain_graph=True` everything counts as not walked.

## How to tell

Memory grows by the same amount in every iteration, and going on from a saved
model starts low again. The list holds tensors whose `grad_fn` is not None.
The finding names the holder, how much it holds, and which of the three it is.

## Remedies

- **item**: keep numbers. `losses.append(loss.item())`; on a GPU `.item()`
  waits for the device, so where that matters:
- **detach**: keep the tensor without its history (`loss.detach()`) and turn
  it into numbers once per epoch.

- **other**: where a hook is registered in every iteration, each keeps what it
  has caught: remove it (`handle.remove()`), or register it once.

Put validation under `torch.no_grad()`: then there is nothing to hold.

## Example

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
log = []
for step in range(8):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.append(loss)  # no error: eight graphs stay
```

A log needs numbers:

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
log = []
for step in range(8):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.append(loss.item())
```

## What people do instead, and why not

`torch.cuda.empty_cache()` and `gc.collect()` free what nobody holds; this is
held. `del loss` deletes a name, not the tensor in the list. A smaller batch
puts off the end by an hour.
"""

from __future__ import annotations

from ..record import Carrier, Finding, Path, Place, Remedy, Trace
from ._finding import quoted, remedy, size, warning
from .facts.collected import Collected, Growth, built_at, filled_at, grown_at, growths, is_read, unwalked

CODE = "SP401"
TITLE = "tensors with history are collected and memory grows"
REMEDIES = ("item", "detach", "other")
TRIED = ("item", "detach")
CAUSED_BY = ("create-graph", "keep-history")
CHANGES_NOTHING = True


def diagnose(trace: Trace) -> list[Finding]:
    """Holders that had more history at pass after pass."""
    if any(f.kind != "other" and not f.swallowed for f in trace.failures):
        return []
    # One holder can be reached by several names, and a container in it by more: the shortest speaks for all, unless all that
    # it holds lies in one of them.
    chosen: list[tuple[Growth, Finding]] = []
    places: set[Place | None] = set()
    grown = sorted(growths(trace), key=lambda g: (len(g.path.ways), len(g.name)))
    for growth in grown:
        if any(growth.path.is_below(other.path) for other, _ in chosen):
            continue
        inside = (g for g in grown if g is not growth and g.path.is_below(growth.path))
        if any(g.numbers and g.numbers == growth.numbers for g in inside):
            continue
        if any(_beside(growth.path, other.path) for other, _ in chosen):
            continue  # another list of the same dictionary: one edit mends both
        finding = _explain(trace, growth)
        if growth.begins_anew and growth.bytes == 0 and is_read(trace, growth.name, finding.failed):
            continue  # some numbers' graphs without what they saved, until their mean is taken
        if finding.failed is None and growth.begins_anew:
            continue  # nothing puts anything into it, and it is made again: a choice from what others hold
        if finding.failed not in places:
            places.add(finding.failed)
            chosen.append((growth, finding))
    found = [f for _, f in chosen]
    return found + [_never_walked(c) for c in unwalked(trace) if c.place not in places]


def _beside(one: Path, other: Path) -> bool:
    """Whether two containers are entries of one."""
    entries = [bool(p.ways) and p.ways[-1].kind == "item" for p in (one, other)]
    return all(entries) and one.parent == other.parent


def _never_walked(held: Collected) -> Finding:
    """Whole graphs on which no pass ever runs."""
    what = f"the history of {held.count} values" if held.running else f"{held.count} tensors with history"
    message = (
        f"`{held.name}` collects {what} that no backward ever walks: the whole graph of each stays in memory until the end "
        "of the evaluation."
    )
    off = remedy(
        "other",
        "evaluate under `torch.no_grad()`",
        "Nothing is recorded then, so there is nothing to keep.",
        target=held.name,
        place=held.place,
    )
    text = f"each keeps about {held.nodes} nodes with their saved tensors"
    evidence = [{"what": "bytes", "text": text, "nodes": held.nodes}]
    remedies = [off, *_remedies(held.name, held.place, None)[-1:]]
    carrier = Carrier(held.name, "local")
    return warning(CODE, "graph-leak", message, held.place, remedies, carrier=carrier, evidence=evidence)


def _explain(trace: Trace, growth: Growth) -> Finding:
    stack = [at for when, _ in growth.seen if (one := trace.at(when)) is not None for at in one.stack]
    place, written = filled_at(trace, growth.name, stack, running=growth.running)
    told = place or (grown_at(trace, growth.name) if growth.running else None)
    shown = written or growth.name
    many = f"{growth.most} {'iterations deep' if growth.running else 'tensors with history'} when last seen"
    until = ", until it is begun anew" if growth.begins_anew else ""
    message = f"`{shown}` keeps the history of every iteration ({many}): memory grows with every step{until}."
    # A tuple has no `.item()`, and neither has a tensor of many elements.
    single = False if growth.within else growth.single
    remedies = _remedies(shown, place, single) if place is not None or told is None else [_without(shown)]
    if growth.hooks:
        message = (
            f"A hook is registered in every iteration and none is removed: {growth.most} of them when last seen, each with "
            f"a `{shown}` of its own that keeps history. Memory grows with every step."
        )
        once = remedy(
            "other",
            "remove each hook when it has done its work (`handle.remove()`), or register one hook once",
            "Every registration adds a hook that stays with the module, and whatever it has caught with it.",
            target=shown,
        )
        remedies = [once, remedies[-1]]
    few = [growth.seen[0], growth.seen[len(growth.seen) // 2], growth.seen[-1]]
    evidence: list[dict[str, object]] = [
        {"what": "note", "text": f"`{growth.name}`: {count} {_held(growth, count)}{_at(trace, when)}", "count": count}
        for when, count in few
    ]
    if trace.at(few[-1][0]) is not None:  # passes are sampled: there may be later ones that nobody has looked at
        evidence[-1]["text"] = f"{evidence[-1]['text']} (last seen)"
    if growth.nodes is not None:
        evidence.append(_cost(growth))
    kind = "running" if growth.running else "slot"
    return warning(
        CODE,
        "graph-leak",
        message,
        told,
        remedies,
        carrier=Carrier(shown, kind),
        built=built_at(trace, growth.name),
        evidence=evidence,
        chain=_chain(growth),
        **({"within": True} if growth.within else {}),
    )


def _held(growth: Growth, count: int) -> str:
    return f"iteration{'s' * (count != 1)} deep" if growth.running else "with history"


def _at(trace: Trace, when: int) -> str:
    """The iteration of a pass, where one was made then."""
    found = trace.at(when)
    return f" in iteration {found.iteration}" if found is not None and found.iteration is not None else ""


def _chain(growth: Growth) -> list[str]:
    """From the name to the holder, a step at a time."""
    path, found = growth.path, list[str]()
    while path.parent is not None:
        found.append(path.name.removeprefix(path.parent.name))
        path = path.parent
    return [path.name, *reversed(found)]


def _without(shown: str) -> Remedy:
    """Where no line adds to it (it is changed in place, under another name) there is none to change."""
    return remedy(
        "other",
        f"change {quoted(shown, 'it')} under `torch.no_grad()`, or by values that are detached",
        "Nothing is recorded then, so there is nothing to keep.",
        target=shown,
    )


def _remedies(shown: str, place: Place | None, single: bool | None) -> list[Remedy]:
    it = quoted(shown, "it")
    number = remedy(
        "item",
        f"add the value to {it}, not the tensor: `.item()`, or `.detach()` to stay a tensor",
        "What is kept for logging is a number; with its history every iteration's graph stays alive.",
        target=shown,
        place=place,
    )
    values = remedy(
        "detach",
        f"detach what goes into {it}",
        "The values stay tensors, without the graph behind them.",
        target=shown,
        place=place,
    )
    return [values] if single is False else [number, values]


def _cost(held: Growth) -> dict[str, object]:
    """What each further tensor keeps: the skeleton of nodes, or the saved tensors too where no pass has freed them."""
    saved = f"and {size(held.bytes)} of saved tensors" if held.bytes else "but no saved tensors: a pass has freed them"
    text = f"each keeps {held.nodes} nodes alive, {saved}"
    return {"what": "bytes", "text": text, "nodes": held.nodes, "bytes": held.bytes}
