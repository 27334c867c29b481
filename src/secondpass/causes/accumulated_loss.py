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
and those are spent.

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
import secondpass.autograd as torch

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
import secondpass.autograd as torch

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
in memory. It may run; what it minimizes is something else.
"""

from __future__ import annotations

from ..record import Finding
from ._finding import about_reuse, quoted, remedy, root_text
from ._reuse import Reuse

CODE = "SP105"
TITLE = "an accumulator of losses keeps old graphs and is sent through again"
REMEDIES = ("item", "combine-losses", "detach", "other")
RANK = 40


def fits(reuse: Reuse) -> bool:
    """The old loss is only added to the new one, and the first pass had gone through it."""
    if reuse.bound_all_along and not any(s.kind == "slot" for s in reuse.bound_all_along) and not reuse.recurs:
        return False  # one and the same term in both sums: built once, not piled up
    return (
        reuse.later
        and bool(reuse.new)
        and (reuse.linear_to_root if not reuse.recurs else reuse.scaled_to_root)
        and (reuse.entry_was_loss or reuse.added_again)
    )


def _one_each(reuse: Reuse) -> bool:
    """Whether every turn of one loop adds one loss and makes one pass."""
    freed, used, built = reuse.freed, reuse.used.loops, reuse.entry.loops
    if freed is None or not freed.loops or not used or not built:
        return False
    a, b, c = freed.loops[0], used[0], built[0]
    return (a.file, a.line) == (b.file, b.line) == (c.file, c.line) and b.count - a.count == 1


def explain(reuse: Reuse) -> Finding:
    """Either the accumulator is what goes through backward by mistake, or it should have started anew."""
    carrier = reuse.carrier("then")
    name = carrier.name if carrier else ""
    root = root_text(reuse.trace, reuse.used)
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
        place=reuse.entry.place,
    )
    number = remedy(
        "item",
        f"keep {shown} as a number and send only the new loss through backward",
        "An accumulator for reporting needs values, not history; `.item()` or `.detach()` gives them.",
        target=name,
        place=reuse.entry.place,
    )
    # Several losses a pass are a sum that should start anew; one loss a pass is a log of them.
    summed = (root == name or (name and root == name.rpartition(".")[2])) and not _one_each(reuse)
    # What is one term among others is there to be trained on.
    summed = summed or reuse.one_term
    return about_reuse(
        CODE, "accumulated-loss", reuse, message, carrier, [own, number] if summed else [number, own], accumulator=name
    )
