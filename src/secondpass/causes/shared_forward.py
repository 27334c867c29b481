# SPDX-License-Identifier: BSD-3-Clause
"""Several losses share a forward and are sent through one by one.

## What happened

Two losses were computed from one forward: two heads on one trunk, a task loss
and a regularizer, one loss per label. The pass of the first freed everything
that it walked, the shared part included. The pass of the second then came to
that shared part and found it freed.

## Why PyTorch refuses

A pass frees what it walks and cannot know that another loss still needs it.
It frees only what it walks: the second head is untouched, so the failing node
lies in the part that both have in common.

## How to tell

The two `backward()` calls stand in the same iteration, on different losses,
and no optimizer stepped in between. Both losses go back to one name: the
features, the output of the model, an encoder that ran once.

## Remedies

- **combine-losses**: gradients add up, so one pass over the sum gives the
  same gradients as two passes: `(loss_a + loss_b).backward()`, or
  `torch.autograd.backward([loss_a, loss_b])`, which is one walk as well. The
  shared part is walked once, and nothing has to be kept.
- **reorder**, **recompute**: where a step stands between the passes, no sum
  can be made. Make both passes before it, or the second forward after it.
- **retain-graph**: in the first pass only, and only where each loss's gradient
  is needed by itself: to weigh them, to compare them, to log their norms. All
  saved tensors then stay until the last pass. `secondpass.grads` gives one
  gradient per loss in one call, and `secondpass.keep` holds what stays to a
  budget in bytes.

## Example

```python
import torch

trunk, name, age = (torch.nn.Linear(4, 4) for _ in range(3))
x, a, b = (torch.randn(8, 4) for _ in range(3))

features = torch.tanh(trunk(x))
name_loss = ((name(features) - a) ** 2).mean()
age_loss = ((age(features) - b) ** 2).mean()
name_loss.backward()  # frees `features`
age_loss.backward()  # RuntimeError: backward ... a second time
```

One pass for both:

```python
import torch

trunk, name, age = (torch.nn.Linear(4, 4) for _ in range(3))
x, a, b = (torch.randn(8, 4) for _ in range(3))

features = torch.tanh(trunk(x))
name_loss = ((name(features) - a) ** 2).mean()
age_loss = ((age(features) - b) ** 2).mean()
(name_loss + age_loss).backward()
```

## What people do instead, and why not

`retain_graph=True` on every call, the last one too: then nothing frees the
graph until its names go away, and memory peaks higher (`needless-retain`).
A second forward for the second loss is right but costs a forward, and with
dropout it is another one. Under `DistributedDataParallel` a second pass over
one forward is silently not averaged across processes; inside `torch.compile`
`retain_graph=True` is an error of its own (`overwritten-output`). The sum has
neither problem.
"""

from __future__ import annotations

from ..record import Finding
from ._finding import about_meeting, quoted, remedy
from .facts.lines import root_text
from .facts.meeting import Meeting
from .facts.names import Named
from .facts.reads import reads_gradients

CODE = "SP102"
TITLE = "several losses share one forward and go through backward one by one"
REMEDIES = ("combine-losses", "retain-graph", "reorder", "recompute")
TRIED = ("combine-losses", "recompute", "retain-graph")
INSTEAD = "`retain_graph=True` would walk the shared part once per loss and keep its saved tensors meanwhile."


def explain(meeting: Meeting) -> Finding:
    """The first pass freed what the second one shares with it."""
    whole, meeting = meeting, meeting.of_one_iteration()
    carrier = Named(meeting).carrier() or Named(whole).carrier()  # what is shared may have no name of its own any more
    mine, other = root_text(meeting.trace, meeting.used), root_text(meeting.trace, meeting.freed)
    shared = quoted(carrier.name if carrier else None, "the part that both losses share")
    pair = f"`{other}` and `{mine}`" if mine and other and mine != other else "two losses"
    message = f"{shared} is shared by {pair}: the first backward freed it before the second one came."
    # Whoever takes a gradient by `grad`, or looks at or clears that of the first loss before the second one's pass, wants it by
    # itself: the gradient of a sum would not do.
    apart = "grad" in (meeting.used.kind, meeting.freed.kind if meeting.freed is not None else "") or meeting.cleared
    apart = apart or (meeting.freed is not None and reads_gradients(meeting.trace, meeting.freed, meeting.used))
    together = remedy(
        "combine-losses",
        "send the losses through together: add them up, or pass both to torch.autograd.backward",
        "Gradients add up, so one pass over the sum gives the same result, and is faster than two.",
        target=mine,
        place=meeting.used.place,
    )
    kept = remedy(
        "retain-graph",
        f"keep the graph in the first {'pass' if apart else 'backward'}",
        "Each loss's gradient is wanted by itself, so the graph has to last until the last of them."
        if apart
        else "Right only if each loss's gradient is needed by itself; it keeps every saved tensor until the last pass.",
        target=other,
        place=meeting.freed.place if meeting.freed is not None else None,
    )
    remedies = [kept] if apart else [together, kept]
    if meeting.steps_between and meeting.moved:
        # What was computed before a step cannot be summed with what comes after it.
        step = meeting.steps_between[0]
        remedies = [
            remedy(
                "reorder",
                f"make both backward passes before {quoted(step.optimizer, 'the optimizer')} steps",
                "Then both gradients belong to the same parameters; the losses can go through together.",
                target=step.optimizer,
                place=step.place,
            ),
            remedy(
                "recompute",
                f"compute {quoted(mine, 'the second loss')} again after the step",
                "Each step then has a forward of its own, with the parameters as they are.",
                target=mine,
                place=meeting.entry.place,
            ),
        ]
    return about_meeting(CODE, "shared-forward", meeting, message, carrier, remedies, apart=apart)
