# SPDX-License-Identifier: BSD-3-Clause
"""The program catches this very error and skips, retries or zeroes the step.

## What happened

A `try` around the training step caught the backward-twice error (or its
in-place or no-history sibling) and went on. The program came to its end. The
steps that failed were lost: often all but the first, because the cause is in
every iteration.

## Why PyTorch does not refuse

It did. The error is a RuntimeError like "out of memory" is, and a handler
meant for that one catches this one as well. Handlers that look at the text
("second time" in str(e)) and call `zero_grad()`, or run the pass again with
`retain_graph=True`, have found the symptom and not the cause.

A failing pass is not undone. What it walked before it failed is freed, and
leaves that it reached have their gradients; a `step()` after the handler
applies that half.

## How to tell

"skipped batch" in the log, a loss that is the same for hours, an epoch that is
suspiciously fast. The finding says how often the error was caught, and under
which cause it would have been reported.

## Remedies

Those of the error that was caught; the finding has them. Mostly

- **detach** what is carried from one iteration to the next (`carried-state`);
- **recompute** what was computed outside the loop (`hoisted-forward`).

Then let the handler catch what it was meant for, by class:
`torch.OutOfMemoryError`.

## Example

```python
import torch

cell = torch.nn.RNNCell(2, 4)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
hidden, done = torch.zeros(4, 4), 0
for step in range(5):
    try:
        hidden = cell(torch.randn(4, 2), hidden)
        optimizer.zero_grad()
        (hidden**2).mean().backward()
        optimizer.step()
        done += 1
    except RuntimeError:
        continue  # no error: four of the five steps are lost
assert done == 1
```

The cause repaired, the handler gone:

```python
import torch

cell = torch.nn.RNNCell(2, 4)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
hidden, done = torch.zeros(4, 4), 0
for step in range(5):
    hidden = cell(torch.randn(4, 2), hidden.detach())
    optimizer.zero_grad()
    (hidden**2).mean().backward()
    optimizer.step()
    done += 1
assert done == 5
```

## What people do instead, and why not

`continue`, a retry, a zeroed loss: the program survives and does not train. A
retry with `retain_graph=True` cannot work at all: the flag keeps the graph of
the pass that has it, and what is missing was freed by the one before.
"""

from __future__ import annotations

from dataclasses import replace

from ..record import Finding

CODE = "SP407"
TITLE = "the program catches this very error and goes on"
REMEDIES = ("recompute", "detach")
TRIED = ("detach", "recompute", "combine-losses")


def swallowed(finding: Finding, times: int) -> Finding:
    """What a finding becomes when the program did not end with its error."""
    often = f"{times} times" if times > 1 else "once"
    message = f"The program caught this error {often} and went on, so those steps were lost: {finding.message}"
    facts = {**finding.facts, "swallowed": finding.cause, "times": times}
    return replace(finding, code=CODE, cause="swallowed-error", severity="warning", message=message, facts=facts)
