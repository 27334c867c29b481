# SPDX-License-Identifier: BSD-3-Clause
"""Gradients are wiped before the step used them.

## What happened

The pass computed gradients, `zero_grad()` cleared them, and then came
`step()`, with nothing to apply. The program runs, logs a loss, writes
checkpoints and trains nothing.

## Why PyTorch does not refuse

A parameter without a gradient is ordinary: frozen layers and unused branches
have none, and `step()` passes over them. Since `zero_grad()` sets gradients
to None by default, it passes over all of them and does nothing at all: no
momentum, no weight decay, not even with AdamW. With `set_to_none=False` the
gradients are zeros, and momentum and decay go on by themselves, which looks
even more like training.

## How to tell

The loss moves only as the data does. A parameter is bit by bit the same after
`step()` as before. Between the pass and the step stands a `zero_grad()`: a
direct one, or one in a callback, in a second training loop, in the loss.

## Remedies

- **reorder**: clear before the pass or after the step. The order of a step is
  clear, forward, pass, step.

## Example

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.weight.detach().clone()
for step in range(4):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()  # no error: nothing to apply
assert (model.weight == before).all()
```

Cleared before the pass:

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.weight.detach().clone()
for step in range(4):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
assert (model.weight != before).any()
```

## What people do instead, and why not

They search the data, the loss and the learning rate, because "it trains, only
badly". Deleting `zero_grad()` altogether makes the model move, on gradients
that pile up (`missing-zero-grad`).
"""

from __future__ import annotations

from ..record import Finding, Owner, Pass, Place, Step, Trace
from ..source import effects
from ._finding import quoted, remedy, warning
from .facts.gradients import Series, series, wasted
from .facts.lines import source_of

CODE = "SP404"
TITLE = "gradients are wiped before the step uses them"
REMEDIES = ("reorder",)
CAUSED_BY = ("add-zero-grad", "reorder")
UNTRUE_AFTER = ("step", "zero_grad")

_TIMES = 3
"""Once or twice may be on purpose: a batch that is skipped, a first look."""


def diagnose(trace: Trace) -> list[Finding]:
    """Optimizers all of whose steps found gradients that a pass had made gone again."""
    found = [
        _explain(trace, one)
        for one in series(trace)
        if len(one.steps) > 1 and all(one.wiped(trace, a, b) and not _anything(b) for a, b in one.pairs())
    ]
    return found or _in_vain(trace) or _always_lost(trace)


def _anything(step: Step) -> bool:
    """Whether a step had any gradient to apply; one that is left out on purpose is not alone."""
    return any(g is None or g for g in step.used.values())


def _explain(trace: Trace, one: Series) -> Finding:
    last, step = one.steps[-2:]
    leaves = set(one.wiped(trace, last, step))
    filled = [p.when for p in trace.passes if p.when < step.when and leaves & set(p.filled or ())]
    clears = [c for c in trace.clears if max(filled) < c.when <= step.when and leaves & set(c.leaves or ())]
    place = next((c.place for c in clears if c.place is not None), step.place)
    name = quoted(step.optimizer, "the optimizer")
    message = f"The gradients are cleared between the backward and the step, so the steps of {name} change nothing."
    remedies = [
        remedy(
            "reorder",
            "clear the gradients after the step, or before the backward",
            "A step can only apply gradients that are still there.",
            target=step.optimizer,
            place=place,
        )
    ]
    count = sum(not _anything(s) for s in one.steps)
    evidence = [
        {"what": "note", "text": f"{count} of {len(one.steps)} steps that were looked at had no gradient to apply"}
    ]
    return warning(CODE, "misplaced-zero-grad", message, place, remedies, used=step.place, evidence=evidence)


def _in_vain(trace: Trace) -> list[Finding]:
    """Call sites most of whose gradients are cleared before a step comes, while steps do use the others.

    A pass that is only made for the gradient of an input (an attack, a saliency map) stands at a place of its own, and
    no step uses it, or only one by hand that changes the input; a batch that is skipped now and then is the exception.
    """
    if any(f.kind != "other" and not f.swallowed for f in trace.failures):
        return []
    sites: dict[object, list[tuple[Pass, bool]]] = {}
    inner = {w for s in trace.steps for w in s.passes}
    for p in trace.passes:
        if p.kind == "backward" and not p.nested and p.outcome == "ok" and p.when not in inner:
            verdict = wasted(trace, p)
            if verdict is not None:
                sites.setdefault(p.stack, []).append((p, verdict))
    found = []
    known = {n for o in trace.owners for n in o.leaves} | set(trace.held or ())
    for seen in sites.values():
        if any(n < 0 and n not in known for p, _ in seen for n in p.walked or ()):
            continue  # they reach what is no parameter: it may be that gradient that is wanted
        lost = sum(w for _, w in seen)
        used = len(seen) - lost
        if lost >= 2 * _TIMES and used >= _TIMES and lost >= used:
            one = seen[0][0]
            message = (
                f"{lost} of {len(seen)} backward passes were in vain: their gradients were "
                "cleared before a step used them."
            )
            remedies = [
                remedy(
                    "reorder",
                    "clear the gradients once per step, right after it",
                    "Gradients add up from pass to pass until the step; clearing them in between throws them away.",
                    place=one.place,
                ),
            ]
            place = _cleared_at(trace, one)
            found.append(warning(CODE, "misplaced-zero-grad", message, place, remedies, used=one.place))
    return found


def _always_lost(trace: Trace) -> list[Finding]:
    """Parameters that passes do give gradients to, but never their own optimizer's last pass before its step: its
    clearing has always come in between. (What is cleared after that last pass is kept from moving on purpose.)"""
    if not trace.ended or any(f.kind != "other" and not f.swallowed for f in trace.failures):
        return []
    found = []
    for owner in trace.owners:
        others = {n for o in trace.owners if o is not owner for n in set(o.leaves) - set(o.bare or ())}
        after = [p for p in trace.passes if p.when > (owner.first or 0) and p.kind == "backward" and not p.nested]
        mine = [one for one in series(trace) if one.leaves == owner.leaves]
        held = {n for one in mine for a, b in one.pairs() for n in one.wiped(trace, a, b)}
        lost = set((owner.bare if owner.given is None else owner.given) or ()) - others - held
        hits = [p for p in after if lost & (p.walked or frozenset())]
        if owner.steps > _TIMES and len(hits) >= _TIMES and lost and lost != set(owner.leaves):
            names = sorted(trace.nodes[n].leaf or "" for n in lost if n in trace.nodes)
            found.append(_lost(trace, owner, names, hits[-1]))
    return found[:1]  # networks that are alike make the same mistake


def _lost(trace: Trace, owner: Owner, names: list[str], one: Pass) -> Finding:
    shown = quoted(next((n for n in names if n), ""), "some parameters")
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    message = (
        f"{shown}{more} get gradients only from passes before {quoted(owner.name, 'their optimizer')} clears them for "
        "its own: no step ever uses them, and they never change."
    )
    remedies = [
        remedy(
            "reorder",
            "clear all gradients before the first backward, and make all steps after the last one",
            "A step can only apply gradients that are still there.",
            target=owner.name,
            place=one.place,
        )
    ]
    return warning(CODE, "misplaced-zero-grad", message, _cleared_at(trace, one), remedies, used=one.place)


def _cleared_at(trace: Trace, one: Pass) -> Place | None:
    """Where the gradients of a pass are cleared: as it was seen, else the line that clears nearest before it."""
    for clear in trace.clears:
        if clear.when > one.when and clear.place is not None:
            return clear.place
    for place in one.stack:
        source = source_of(trace, place)
        if source is None:
            continue
        function = source.function(place.line)
        lines = [
            s.lineno
            for s in source.statements
            if source.function(s.lineno) is function and any(True for _ in effects(s, "clear"))
        ]
        if lines:
            return Place(place.file, max([n for n in lines if n <= place.line] or lines), place.function)
    return one.place
