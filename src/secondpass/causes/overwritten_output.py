# SPDX-License-Identifier: BSD-3-Clause
"""A tensor of a CUDA graph is read after the graph's next run has overwritten it.

## What happened

A compiled region that runs as a CUDA graph (`mode="reduce-overhead"`) writes
its results into the same memory in every run. An output was kept, and read
after the region had run again: as the state of a recurrence, in a list of
losses or predictions, or as a gradient that is being accumulated.

## Why PyTorch does not refuse

It does not refuse to keep the tensor: it cannot know that somebody will read
it later. It refuses the reading: "accessing tensor output of CUDAGraphs that
has been overwritten by a subsequent run". On a CPU, and before the graph is
recorded, the same program works: so it fails in the third iteration or so.

## How to tell

Without `mode="reduce-overhead"` the program runs. The line that fails reads a
tensor that an earlier call of the region has made.

## Remedies

- **clone**: a copy of what is kept, taken outside of the region:
  `out = model(x).clone()`. A loss that is only logged is better kept as a
  number.
- **other**: `torch.compiler.cudagraph_mark_step_begin()` at the beginning of
  each iteration, where one iteration runs the region several times and needs
  all of the outputs. For gradients: memory of their own before the first
  compiled pass (a pass without the compiler, then
  `zero_grad(set_to_none=False)`).

## Example

```python
import torch

model = torch.compile(torch.nn.Linear(3, 3), backend="cudagraphs")
kept = []
with torch.no_grad():
    for step in range(4):
        kept.append(model(torch.randn(8, 3)))
print(torch.stack(kept).mean())  # fails where the model is on a GPU
```

With a copy:

```python
import torch

model = torch.compile(torch.nn.Linear(3, 3), backend="cudagraphs")
kept = []
with torch.no_grad():
    for step in range(4):
        kept.append(model(torch.randn(8, 3)).clone())
print(torch.stack(kept).mean())
```

## What people do instead, and why not

They leave `mode="reduce-overhead"` out, and with it what it saves on every
run. `.detach()` gives another tensor on the same memory: it is overwritten
just so. A `.clone()` inside of the region is one more output in its memory.
"""

from __future__ import annotations

from ..record import Carrier, Failure, Finding, Trace
from ._finding import pass_evidence, place_of, quoted, remedy

CODE = "SP505"
TITLE = "an output of a CUDA graph is read after the next run has overwritten it"
REMEDIES = ("clone", "other")
TRIED = ()
MESSAGES = ("output of CUDAGraphs that has been overwritten by a subsequent run",)


def diagnose(trace: Trace) -> list[Finding]:
    """Readings that were refused."""
    return [_explain(trace, f) for f in trace.failures if f.kind == "overwritten-output"]


def _explain(trace: Trace, failure: Failure) -> Finding:
    name = failure.names[0] if failure.names else ""
    again = "the region has run again since, and its CUDA graph writes into the same memory in every run."
    if failure.leaf is not None or "gradient tensor output" in failure.message:
        message = f"A gradient that a compiled region has made is added to in a later pass: {again}"
        remedies = [
            remedy(
                "other",
                "give gradients memory of their own before the first compiled pass: a pass without the compiler, then "
                "zero_grad(set_to_none=False)",
                "What is accumulated then lies outside of the CUDA graph.",
            )
        ]
    else:
        message = f"{quoted(name, 'A tensor')}, output of a compiled region, is read too late: {again}"
        remedies = [
            remedy(
                "clone",
                f"keep a copy: `.clone()` where {quoted(name, 'it')} comes out of the region",
                "A copy has memory of its own; a detached tensor has not.",
                target=name,
            ),
            remedy(
                "other",
                "if it was made in this very iteration: torch.compiler.cudagraph_mark_step_begin() at the beginning of each",
                "Then all outputs of an iteration live until the next; what is carried on from the one before needs a copy.",
            ),
        ]
    return Finding(
        CODE,
        "overwritten-output",
        "error",
        message,
        failed=failure.place,
        carrier=Carrier(name, "local") if name else None,
        built=failure.made_at,
        used=failure.place,
        evidence=tuple(pass_evidence(trace, failure.when)),
        remedies=tuple(remedies),
        facts={"used_stack": [place_of(p) for p in failure.stack]},
    )
