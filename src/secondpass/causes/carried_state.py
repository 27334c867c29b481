# SPDX-License-Identifier: BSD-3-Clause
"""A tensor with history is carried from one iteration to the next.

## What happened

An iteration ended, its pass freed its graph, and a name kept a tensor that was
computed in it: a hidden state, a memory, a moving average, the last output.
The next iteration built on that tensor, so its graph reaches back into the
freed one. That name is the carrier. It may be a local variable, an attribute
(`self.hidden`), a slot of a container or a cell of a closure.

## Why PyTorch refuses

The new loss depends, through the carrier, on everything of the iteration
before. The pass walks the new part, crosses over into the old one and meets
nodes whose saved tensors are gone. The carrier's own last node need not be the
one that fails: it may save nothing, or lie beside the way of the pass that
freed.

## How to tell

The first iteration is fine and the second fails, at the same `backward()`.
The part that is gone was built one iteration earlier, by the assignment that
gives the carrier its next value.

## Remedies

- **detach**: `hidden = hidden.detach()` where one iteration hands over to the
  next. The values go on, the history ends: this is truncated back-propagation
  through time. Detach every part of a state: an LSTM has two.
  `secondpass.detach(state)` takes nested states apart, and `secondpass.bptt`
  walks a sequence in windows.

- **other**: where nothing but this state leads to some parameter (a weight
  that evolves), detaching would stop its training. Compute the state anew in
  every iteration. And if gradients should flow across several steps, sum
  their losses, send the sum through once, then detach.

## Example

```python
import torch

cell, read = torch.nn.GRUCell(2, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *read.parameters()], lr=0.1)

hidden = torch.zeros(4, 8)
for step in range(3):
    hidden = cell(torch.randn(4, 2), hidden)
    loss = (read(hidden) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()  # step 1: RuntimeError, backward ... a second time
    optimizer.step()
```

Cut between iterations:

```python
import torch

cell, read = torch.nn.GRUCell(2, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *read.parameters()], lr=0.1)

hidden = torch.zeros(4, 8)
for step in range(3):
    hidden = cell(torch.randn(4, 2), hidden.detach())
    loss = (read(hidden) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## What people do instead, and why not

`retain_graph=True`: every pass walks all earlier iterations again, slower and
larger each time, until `step()` has changed a weight that an old node saved;
then it fails with an in-place error (`step-between`). The freed check comes
first, which is why that error shows only now. `hidden.detach()` on a line of
its own does nothing: assign what it returns (`detach_()` works in place, but
not on a view). `hidden.clone()` keeps the history. Zeros in every iteration
end the error and the memory of the model with it.
"""

from __future__ import annotations

from ..record import Finding
from ._finding import about_meeting, iterations, quoted, remedy
from .facts.meeting import Meeting
from .facts.names import Named
from .facts.starts import untrained

CODE = "SP103"
TITLE = "a tensor with history is carried from one iteration to the next"
REMEDIES = ("detach", "other")
TRIED = ("detach",)
INSTEAD = (
    "`retain_graph=True` would walk all earlier iterations again in every backward, until a step that has changed the weights "
    "makes it fail."
)
CAUSED_BY = ("keep-history",)


def explain(meeting: Meeting) -> Finding:
    """The values should go on, the history should not."""
    carrier = Named(meeting).carrier()
    name = carrier.name if carrier else ""
    shown = quoted(name, "a tensor")
    when = iterations(meeting)
    if "built_iteration" in when and "used_iteration" in when:
        span = f"the history of iteration {when['built_iteration']} into iteration {when['used_iteration']}"
    else:
        span = "the history of one iteration into the next"
    gone = (
        "and the weights it was made with have changed since"
        if meeting.changed
        else "and a backward had already freed it"
    )
    message = f"{shown} carries {span}, {gone}."
    detach = remedy(
        "detach",
        f"detach {shown} where it goes from one iteration to the next",
        "The next iteration needs its values, not its history: that part has been through backward.",
        safe=True,
        target=name,
        place=meeting.entry.place,
    )
    lost = untrained(meeting, name)
    if lost:
        leaf = next((meeting.trace.nodes[n].leaf or "" for n in sorted(lost, reverse=True)), "")
        other = remedy(
            "other",
            f"compute {shown} from {quoted(leaf, 'its parameters')} anew in every iteration, or make one pass over all of them",
            f"Nothing but {shown} leads to {quoted(leaf, 'these parameters')}: detached, they would not be trained any more.",
            target=name,
            place=meeting.entry.place,
        )
        return about_meeting(CODE, "carried-state", meeting, message, carrier, [other])
    return about_meeting(CODE, "carried-state", meeting, message, carrier, [detach])
