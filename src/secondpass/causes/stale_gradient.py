# SPDX-License-Identifier: BSD-3-Clause
"""An old gradient is applied again after the parameters moved.

## What happened

`step()` was called more than once on the same gradient, with no pass in
between: an inner loop around `step()` only, gradients that were stored and put
back into `.grad`, a pass that is skipped on some iterations while the step is
not.

## Why PyTorch does not refuse

`step()` reads `.grad` and asks nothing. A gradient does not know at which
parameters it was computed.

A gradient is the slope at one point. After the first step the parameters are
at another, and the old slope says nothing about it: two steps on one gradient
are one step with twice the learning rate, and an optimizer with momentum or
running averages counts it twice in its memory, too.

## How to tell

The loop that holds `step()` holds no pass, or reaches it on some ways only. So
does a `try` around the pass, with the step below it.

## Remedies

- **recompute**: forward, pass and step together, once per step.
- **other**: if one larger step was meant, raise the learning rate and step
  once.

## Example

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8, 1)

loss = ((model(x) - y) ** 2).mean()
loss.backward()
for step in range(4):
    optimizer.step()  # no error: the same gradient four times
```

A gradient of its own for every step:

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8, 1)

for step in range(4):
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## What people do instead, and why not

Some articles propose it as a cheap way around the backward-twice error: copy
the gradients after the first pass, put them back, step again. No error comes,
because no second pass does. It saves a forward and pays with a step in a
direction that was right for other parameters.
"""

from __future__ import annotations

from ..record import Carrier, Finding, Pass, Step, Trace
from ._finding import quoted, remedy, warning
from .facts.gradients import series
from .facts.lines import source_of

CODE = "SP405"
TITLE = "an old gradient is applied again after the parameters moved"
REMEDIES = ("recompute", "other")
CAUSED_BY = ("add-zero-grad", "combine-losses", "other", "recompute", "reorder")
UNTRUE_AFTER = ("backward", "zero_grad")
FEWER_STEPS = True


def diagnose(trace: Trace) -> list[Finding]:
    """Steps that applied nothing but what an earlier step of the same optimizer had applied, and had moved leaves with."""
    places: dict[object, dict[str, list[Step]]] = {}
    for one in series(trace):
        for step in one.plain:
            if one.stale(step):  # a loop over optimizers steps with several in one place
                places.setdefault(step.place or step.optimizer, {}).setdefault(step.optimizer, []).append(step)
    often = ([s for s in own.values() if len(s) > 1 or trace.ended] for own in places.values())
    return [_explain(trace, own) for own in often if own]


def _explain(trace: Trace, own: list[list[Step]]) -> Finding:
    steps = max(own, key=len)
    step = steps[0]
    name = quoted(step.optimizer, "the optimizer")
    given = {when for gradient in step.used.values() for when in gradient or ()}
    before = [p for p in trace.passes if p.when < step.when and (p.when in given or not given)]
    message = f"{name} steps again on the same gradient, although its parameters moved with the step before."
    remedies = [
        remedy(
            "recompute",
            "compute the loss and its gradient again before every step",
            "A gradient belongs to the parameters it was computed at; after a step it is out of date.",
            target=step.optimizer,
            place=step.place,
        ),
        remedy(
            "other",
            "step only where a backward has come since the last step",
            "A step without a new gradient repeats the one before it.",
            target=step.optimizer,
            place=step.place,
        ),
    ]
    if before and (_others_went_on(trace, step) or _in_one_loop(trace, before[-1], step)):
        remedies.reverse()  # there is a pass in every turn but some: what is missing there is no pass
    freed = before[-1].place if before else None
    times = "1 step" if len(steps) == 1 else f"{len(steps)} steps"
    evidence = [{"what": "note", "text": f"{times} without a pass since the step before"}]
    if others := [quoted(o[0].optimizer, "another optimizer") for o in own if o is not steps]:
        evidence.append({"what": "note", "text": f"so does {' and '.join(others)}"})
    carrier = Carrier(step.optimizer, "local") if step.optimizer else None
    return warning(
        CODE, "stale-gradient", message, step.place, remedies, freed=freed, evidence=evidence, carrier=carrier
    )


def _others_went_on(trace: Trace, step: Step) -> bool:
    """Whether passes for others came between a step and the one before it by the same optimizer: it was not its turn."""
    earlier = [s.when for s in trace.steps if s.when < step.when and s.optimizer == step.optimizer]
    return bool(earlier) and any(max(earlier) < p.when < step.when for p in trace.passes)


def _in_one_loop(trace: Trace, before: Pass, step: Step) -> bool:
    """Whether the innermost loop around a step is around the pass before it, too: then a turn went by without one."""
    source, at = source_of(trace, step.place), step.place
    loop = next(iter(source.loops(at.line)), None) if source is not None and at is not None else None
    if source is None or at is None:
        return False
    if loop is None:  # the loop is that of a caller: one call of the function went by without a pass
        last = [s for s in trace.steps if s.when < step.when and s.optimizer == step.optimizer][-1:]
        here = any((p.file, p.function) == (at.file, at.function) for p in before.stack)
        return here and any(s.place == at for s in last)
    return any(p.file == at.file and loop in source.path(p.line) for p in before.stack)
