# SPDX-License-Identifier: BSD-3-Clause
"""The same loss is sent through backward twice, with no new forward between.

## What happened

Two passes started from the same root, and no forward was run in between. The
first pass freed the buffers of every node it walked. The second one came to
the same nodes and found them spent.

In a loop, the forward usually stands above the loop that it belongs into.
Outside of loops two pieces of code each call `backward()`: a method and its
caller, the script and the trainer, a notebook cell that was run twice.
`(loss / 2).backward()` after `loss.backward()` is the same thing: scaling a
loss does not make a new forward.

## Why PyTorch refuses

A node keeps what its derivative needs (an input, an output, a mask) from the
forward until a pass has walked it, and no longer: this memory is most of what
training costs. A second pass over the same nodes has nothing to compute with.
Only nodes that saved something complain. A loss made of sums and slices alone
can be sent through any number of times, and each time counts again.

## How to tell

The line that failed and the line that freed are the same `backward()` call,
or two calls on the same name, and nothing assigned that name in between.

## Remedies

- **recompute**: run the forward again before every pass. In a training loop
  that is the point of the loop: the parameters have moved, so the loss has.
- **other**: where both calls belong to the same step, delete one of them. The
  gradients are there after the first.

## Example

```python
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8, 1)

loss = ((model(x) - y) ** 2).mean()
for step in range(3):
    optimizer.zero_grad()
    loss.backward()  # step 1: RuntimeError, backward ... a second time
    optimizer.step()
```

The forward belongs into the loop:

```python
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8, 1)

for step in range(3):
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## What people do instead, and why not

`retain_graph=True`, because the message names it. The program above then runs
to its end and applies the gradient of the untrained model three times: the
loss never changes, and no error says so. With a second layer it fails after
all, with an in-place error (`step-between`). Calling `zero_grad()` more often
does nothing here: gradients that pile up never raise this error.
"""

from __future__ import annotations

from ..record import Finding
from ._finding import about_reuse, quoted, remedy, root_text
from ._moves import moves_between
from ._reuse import Reuse

CODE = "SP101"
TITLE = "the same loss goes through backward twice"
REMEDIES = ("recompute", "other")
RANK = 20

_SCALING = 2


def fits(reuse: Reuse) -> bool:
    """The same root, or nothing but sums and scalings of it that are new."""
    if reuse.same_root or _scaled_before(reuse):
        return True
    if reuse.fresh or reuse.recurs or not reuse.entry_was_loss or reuse.freed is None:
        return False
    roots = set(reuse.freed.roots or ())
    if all(e.number in roots for e in reuse.entries):
        return True
    # Scaled anew each time: `scaler.scale(loss).backward()`, `(loss / n).backward()`.
    text = root_text(reuse.trace, reuse.used)
    if text != root_text(reuse.trace, reuse.freed):
        return False
    names = {s.name for s in reuse.bound_all_along}
    # `loss.mean()` twice; what multiplies or picks may do so with something else each time.
    plain = not any(n.op.startswith(("Mul", "Select", "Index", "Slice", "Unbind", "Split", "Stack")) for n in reuse.new)
    return text in names or (plain and any(text.startswith(f"{name}.") for name in names))


def _scaled_before(reuse: Reuse) -> bool:
    """Whether the first pass started from a scaling of this root, and so walked all of it and hardly anything else."""
    first = reuse.freed.walked if reuse.freed is not None else None
    if first is None or reuse.new or not set(reuse.used.roots or ()) <= first:
        return False
    return len([n for n in first if n >= 0 and n not in reuse.walked]) <= _SCALING


def explain(reuse: Reuse) -> Finding:
    """In a loop the forward is missing from it; otherwise one of the two passes is one too many."""
    name = root_text(reuse.trace, reuse.used)
    shown = quoted(name, "the same loss")
    carrier = reuse.carrier()
    looping = reuse.outside is not None or reuse.same_site
    if looping or (reuse.freed is not None and moves_between(reuse.trace, reuse.freed, reuse.used)):
        message = (
            f"{shown} is sent through backward again, but no forward pass has computed it anew since the last time."
        )
        remedies = [
            remedy(
                "recompute",
                f"compute {shown} again before every backward",
                "Each backward needs a forward of its own: the parameters have changed, and so must the loss.",
                target=name,
                place=reuse.entry.place,
            )
        ]
    else:
        message = f"{shown} goes through backward a second time: an earlier call has done it already."
        remedies = [
            remedy(
                "other",
                "remove one of the two backward calls",
                "The gradients are there after the first pass; a second one over the same loss would count them twice.",
                target=name,
                place=reuse.used.place,
            ),
            remedy(
                "recompute",
                f"compute {shown} again before the second backward",
                "A second pass needs a forward of its own.",
                target=name,
                place=reuse.entry.place,
            ),
        ]
    return about_reuse(CODE, "repeated-backward", reuse, message, carrier, remedies, looping=looping)
