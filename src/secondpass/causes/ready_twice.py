# SPDX-License-Identifier: BSD-3-Clause
"""DistributedDataParallel is handed the gradient of one parameter twice.

## What happened

After each forward `DistributedDataParallel` expects one gradient from every
parameter. A pass left some parameters out, so the reduction stayed open, and
then a second pass over the same forward reached the others again: "Expected
to mark a variable ready only once". A reentrant checkpoint does the same by
itself when two of its blocks share a parameter: each block has a pass of its
own within the pass.

## Why PyTorch refuses

Gradients are sent off as they arrive, while the pass still runs. What has been
sent cannot be added to.

Had the first pass reached every parameter, there would be no error at all:
the second pass would silently not be averaged (`unreduced-pass`).

## How to tell

Two losses that share a forward and each leave out a head of their own, or
blocks under `checkpoint(..., use_reentrant=True)` that share weights. The
finding names the parameters that the first pass left out.

## Remedies

- **combine-losses**: one pass over the sum of the losses reaches everything
  once.
- **other**: `use_reentrant=False`; or, where the same parameters take part in
  every iteration, `static_graph=True`, which waits for the end of the pass.
  Where each loss needs a pass of its own, `secondpass.keep(model)`.

## Example

```python
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
net.forward = lambda x: (net[0](x), net[1](net[0](x)))
model = DistributedDataParallel(net)
a, b = model(torch.randn(8, 3))
a.pow(2).mean().backward(retain_graph=True)
b.pow(2).mean().backward()  # RuntimeError: ready only once
```

In one pass:

```python
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
net.forward = lambda x: (net[0](x), net[1](net[0](x)))
model = DistributedDataParallel(net)
a, b = model(torch.randn(8, 3))
(a.pow(2).mean() + b.pow(2).mean()).backward()
dist.destroy_process_group()
```

## What people do instead, and why not

`find_unused_parameters=True` makes the error go away and leaves the second
pass unaveraged: every rank trains on its own from then on.
"""

from __future__ import annotations

import re

from ..record import Finding, Pass, Remedy, Trace
from ._finding import carrier_of, pass_evidence, place_of, quoted, remedy
from .facts.lines import call_text, root_text
from .facts.reduction import covering, modules_of, open_pass

CODE = "SP503"
TITLE = "DistributedDataParallel is handed one parameter's gradient twice"
MESSAGES = ("Expected to mark a variable ready only once",)
REMEDIES = ("combine-losses", "other")
INSTEAD = "`find_unused_parameters=True` silences the error, and the second pass is then silently not averaged."

_SHOWN = 4


def diagnose(trace: Trace) -> list[Finding]:
    """Passes that came to a parameter whose gradient was already on its way."""
    found = []
    for failure in (f for f in trace.failures if f.kind == "ready-twice" and "ready only once" in f.message):
        used = trace.at(failure.when)
        if used is not None:
            found.append(_explain(trace, used, failure.message))
    return found


def _explain(trace: Trace, used: Pass, said: str) -> Finding:
    index = _module(trace, used)
    module = trace.parallels[index] if index is not None else None
    model = quoted(module.name if module is not None else None, "the model")
    earlier = open_pass(trace, index, used.when - 1) if index is not None else None
    forward = covering(trace, index, used) if index is not None else None
    outer = trace.around(used) or used
    maker = trace.maker(used)
    if forward is None and index is not None:
        forward = covering(trace, index, outer)
    built = (
        maker.place if maker is not None and maker.place is not None else forward.place if forward is not None else None
    )
    line = call_text(trace, outer)
    if used.nested and index is not None:
        within = (p for p in reversed(trace.passes) if p.nested and outer.when < p.when < used.when)
        earlier = next((p for p in within if p.reduced.get(index)), None)
    left: list[str] = []
    if used.nested:
        named = re.search(r"with name (\S+) has been marked", said)
        which = f"`{named[1]}` of {model}" if named else f"one parameter of {model}"
        message = (
            f"In `{line}` two passes of a reentrant checkpoint give {which} a gradient each: DDP had sent the first on its "
            "way."
        )
        remedies = [
            remedy(
                "other",
                "checkpoint with use_reentrant=False",
                "Then all gradients of a parameter come in one pass.",
                target="use_reentrant",
                place=maker.place if maker is not None else None,
            ),
            remedy(
                "other",
                "give DistributedDataParallel static_graph=True",
                "Right only if the same parameters take part in every iteration.",
            ),
        ]
    else:
        if module is not None and earlier is not None and index is not None:
            handed = set(earlier.reduced[index])
            pairs = list(zip(module.leaves, module.names, strict=False))
            left = modules_of([n for k, n in pairs if k not in handed], [n for k, n in pairs if k in handed])
        first = f"`{call_text(trace, earlier)}`" if earlier is not None else "the pass before"
        without = f" (it had left out {listed(left)})" if left else ""
        message = (
            f"`{line}` goes through one forward of {model} a second time, and hands over gradients that DDP already "
            f"had from {first}{without}."
        )
        remedies = _remedies(trace, used, model)
    labels = {used.when: "failed"} | ({earlier.when: "handed over"} if earlier is not None else {})
    return Finding(
        CODE,
        "ready-twice",
        "error",
        message,
        failed=used.place,
        carrier=carrier_of(module),
        built=built,
        freed=earlier.place if earlier is not None else None,
        used=used.place,
        evidence=tuple(pass_evidence(trace, used.when, labels)),
        remedies=tuple(remedies),
        sure=module is not None and (earlier is not None or used.nested),
        facts={
            "inside": used.nested,
            "left_out": left,
            "root": root_text(trace, used),
            "other_root": root_text(trace, earlier),
            "freed_stack": [place_of(p) for p in earlier.stack] if earlier is not None else [],
            "used_stack": [place_of(p) for p in used.stack],
        },
    )


def listed(names: list[str]) -> str:
    """Names for a sentence, not too many."""
    shown = ", ".join(f"`{n}`" for n in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _module(trace: Trace, used: Pass) -> int | None:
    """Which module: the one whose parameters the pass reaches."""
    reached = {n for n, node in trace.nodes.items() if node.leaf is not None} if used.walked is None else used.walked
    fits = [k for k, m in enumerate(trace.parallels) if reached & set(m.leaves)]
    handing = [k for k in fits if open_pass(trace, k, used.when) is not None]
    return next(iter(handing or fits), None)


def _remedies(trace: Trace, used: Pass, model: str) -> list[Remedy]:
    return [
        remedy(
            "combine-losses",
            "send the losses through together: one pass over their sum",
            "Gradients add up, so one pass gives their sum, and every parameter hands its gradient over once.",
            target=root_text(trace, used),
            place=used.place,
        ),
        remedy(
            "other",
            f"keep {model} (secondpass.keep), which averages every pass",
            "Right where each loss needs a pass of its own.",
        ),
    ]
