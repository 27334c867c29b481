# SPDX-License-Identifier: BSD-3-Clause
"""A pass whose gradients DistributedDataParallel does not average over the ranks.

## What happened

A forward of `DistributedDataParallel` makes it ready to average gradients
once: in the next pass. A second pass over the same forward adds to `.grad` on
each rank alone; so does the second of two passes after two forwards, a pass
over a forward that ran under `no_sync()`, a pass over the wrapped module
called by itself, and a reentrant checkpoint that runs a parameter twice. An
optimizer then applied these gradients. From that step on every rank has
parameters of its own.

## Why PyTorch does not refuse

The reducer waits for each parameter's gradient once per forward. What comes
later looks like gradients that are being accumulated for the next reduction,
which is what `no_sync()` is for. Nothing compares the ranks.

## How to tell

Print `sum(p.sum() for p in model.parameters())` on every rank after a few
steps: the numbers differ. Under `secondpass run` the ranks compare what their
steps made of the parameters, and nothing is said where it is the same.

## Remedies

- **combine-losses**: one pass over the sum of the losses. All gradients are
  averaged, once, and it is faster than two passes.
- **other**: make each pass before the next forward; run the forward of the
  last micro-batch outside `no_sync()` (a forward decides, not its pass); call
  the wrapper, not what it wraps; `use_reentrant=False`. Where each loss needs
  a pass of its own, `secondpass.keep(model)` averages all of them.

## Example

```python
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = DistributedDataParallel(torch.nn.Linear(3, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
out = model(torch.randn(8, 3))
out[:, 0].pow(2).mean().backward(retain_graph=True)
out[:, 1].pow(2).mean().backward()  # no error: stays on this rank
optimizer.step()
dist.destroy_process_group()
```

In one pass:

```python
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = DistributedDataParallel(torch.nn.Linear(3, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
out = model(torch.randn(8, 3))
(out[:, 0].pow(2).mean() + out[:, 1].pow(2).mean()).backward()
optimizer.step()
dist.destroy_process_group()
```

## What people do instead, and why not

`no_sync()` around the first backward: it is read in the forward, so it does
nothing there. Averaging `.grad` by hand after the second pass is right, but
sends all gradients twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..record import Failure, Finding, Remedy, Trace
from ._finding import carrier_of, pass_evidence, place_of, quoted, remedy
from .facts.lines import call_text, root_text
from .facts.reduction import Alone, alone

CODE = "SP501"
TITLE = "a pass whose gradients are not averaged over the ranks"
REMEDIES = ("combine-losses", "other")

_ALONE = "so every rank goes on with gradients of its own"


def diagnose(trace: Trace) -> list[Finding]:
    """Passes that a step applied and no reduction had averaged."""
    failure = next((f for f in trace.failures if f.kind == "ready-twice"), None)
    if failure is not None and "ready only once" in failure.message:
        return []  # that is about the failing pass: see `ready-twice`
    if any(not f.swallowed for f in trace.failures) and failure is None:
        return []
    return [_explain(a, failure) for a in alone(trace)]


def merge(findings: dict[int, Finding], waiting: Sequence[str] = ()) -> Finding | None:
    """What the ranks say together refutes it where their steps have made the same of the parameters."""
    told = [f.facts.get("digests") or {} for f in findings.values()]
    common = set.intersection(*(set(t) for t in told)) if len(told) > 1 else set()
    if common and all(len({t[k] for t in told}) == 1 for k in common):
        return None
    first = findings[min(findings)]
    ranks = first.facts.get("ranks") or 0
    if first.facts.get("by_chance") and len(findings) < ranks:
        return None  # what one rank leaves to itself, all do
    if not common:
        return first  # nothing to compare: the program may average by itself
    step = min((k for k in common if len({t[k] for t in told}) > 1), key=int)
    text = f"after step {step} the parameters are no longer the same on the ranks"
    return replace(first, sure=True, evidence=(*first.evidence, {"what": "digest", "text": text, "step": int(step)}))


def _explain(one: Alone, failure: Failure | None) -> Finding:
    trace, used, earlier = one.trace, one.used, one.earlier
    model = quoted(one.module.name, "the model")
    line = call_text(trace, used)
    message = {
        "again": f"`{line}` is the second pass over one forward of {model}: DDP averaged the first one only, {_ALONE}.",
        "forwards": f"`{line}` comes after a later forward of {model}, whose reduction another pass took: its gradients are "
        f"not averaged, {_ALONE}.",
        "no_sync": f"`{line}` goes back through a forward of {model} that ran under no_sync(), and a step applied its "
        f"gradients before any pass averaged them, {_ALONE}.",
        "direct": f"`{line}` trains what {model} wraps without having called {model}: nothing is averaged, {_ALONE}.",
        "checkpoint": f"In `{line}` a reentrant checkpoint gives parameters of {model} a second gradient after DDP has averaged "
        f"the first, {_ALONE}.",
    }[one.way]
    maker, forward = trace.maker(used), one.forward
    built = (
        maker.place if maker is not None and maker.place is not None else forward.place if forward is not None else None
    )
    if failure is not None:
        message += " PyTorch notices only now."
    labels = {used.when: "not averaged"} | ({earlier.when: "averaged"} if earlier is not None else {})
    if failure is not None:
        labels[failure.when] = "failed"
    return Finding(
        CODE,
        "unreduced-pass",
        "warning" if failure is None else "error",
        message,
        failed=used.place if failure is None else failure.place,
        carrier=carrier_of(one.module),
        built=built,
        freed=earlier.place if earlier is not None else None,
        used=used.place,
        evidence=tuple(pass_evidence(trace, max(labels | {one.step.when: ""}), labels)),
        remedies=tuple(_remedies(one, model)),
        # A program that never asks DDP to average may do so by itself: what the ranks say together is sure.
        sure=one.way not in ("no_sync", "direct"),
        facts={
            "way": one.way,
            "inside": used.nested,
            "digests": one.digests,
            "ranks": one.module.ranks,
            "by_chance": one.by_chance,
            "root": root_text(trace, used),
            "other_root": root_text(trace, earlier),
            "freed_stack": [place_of(p) for p in earlier.stack] if earlier is not None else [],
            "used_stack": [place_of(p) for p in used.stack],
        },
    )


def _remedies(one: Alone, model: str) -> list[Remedy]:
    together = remedy(
        "combine-losses",
        "send the losses through together: one pass over their sum",
        "Gradients add up, so one pass gives their sum, and DDP averages all of it.",
        target=root_text(one.trace, one.used),
        place=one.used.place,
    )
    if one.way == "again":
        keep = remedy(
            "other",
            f"keep {model} (secondpass.keep), which averages every pass",
            "Right where each loss needs a pass of its own.",
        )
        return [together, keep]
    if one.way == "forwards":
        turn = remedy(
            "other", f"make each pass before the next forward of {model}", "Each forward is good for one reduction."
        )
        return [turn, together]
    title, why = {
        "no_sync": (
            "run the forward of the last micro-batch before a step outside no_sync()",
            "no_sync() is read when the forward runs; its pass then averages all that was accumulated.",
        ),
        "direct": (f"call {model} itself in the forward", "Only a forward of the wrapper makes it ready to average."),
        "checkpoint": (
            "checkpoint with use_reentrant=False",
            "Then all gradients of a parameter come in one pass; with use_reentrant=True DDP needs static_graph=True.",
        ),
    }[one.way]
    maker = one.trace.maker(one.used)
    about: dict[str, Any] = {}
    if one.way == "checkpoint":
        about = {"target": "use_reentrant", "place": maker.place if maker is not None else None}
    return [remedy("other", title, why, **about)]
