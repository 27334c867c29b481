# SPDX-License-Identifier: BSD-3-Clause
"""Part of the graph is built once, outside the loop or closure, and used in every iteration.

## What happened

Something that depends on parameters was computed before the loop: embeddings,
a penalty, a transformed weight, the output of an encoder. Every iteration used
it. The first pass freed its saved tensors, and the second found them gone. A
closure that an optimizer calls again and again (LBFGS) is a loop, too.

## Why PyTorch refuses

The loss of every iteration is new, but part of its history is not: it is the
one graph from before the loop. A pass that retains nothing frees it with the
rest. Moving a line out of a loop because "it does not change" is right for
values; but this one does change, with every step of the optimizer.

## How to tell

The first iteration is fine and the second fails. The part that is gone was
built above the loop and is assigned nowhere in it.

## Remedies

- **recompute**: compute it inside the loop, from the parameters as they are
  now. This is right whenever what it was computed from is being trained.
- **detach**: where it is meant as a constant (a frozen encoder, targets), say
  so where it is made: `codes = encoder(x).detach()`, or make it under
  `torch.no_grad()`. Nothing is trained through it then.

## Example

```python
import torch

encode, head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD([*encode.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 1)

codes = torch.tanh(encode(x))
for step in range(3):
    loss = ((head(codes) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()  # step 1: RuntimeError, backward ... a second time
    optimizer.step()
```

The encoder is trained, so its output belongs into the loop:

```python
import torch

encode, head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD([*encode.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 1)

for step in range(3):
    codes = torch.tanh(encode(x))
    loss = ((head(codes) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## What people do instead, and why not

`retain_graph=True`: the value stays that of the first parameters for the whole
run, and so does its gradient. Here the encoder would be pushed on and on by a
forward that is no longer its own. Where a node outside saved a weight that is
being trained, an in-place error comes instead (`step-between`); where none
did, as here, nothing is said.
"""

from __future__ import annotations

from ..record import Carrier, Finding
from ._finding import about_meeting, quoted, remedy
from .facts.kept import kept_once, made_if_missing
from .facts.lines import source_of
from .facts.meeting import Meeting
from .facts.names import Named

CODE = "SP104"
TITLE = "part of the graph is built once, outside the loop, and used in every iteration"
REMEDIES = ("recompute", "detach")
INSTEAD = "`retain_graph=True` would go on with the value from before the first step."


def explain(meeting: Meeting) -> Finding:
    """It depends on parameters, so it must be computed where they change."""
    kept = kept_once(meeting) if meeting.outside is None else ""
    inside = source_of(meeting.trace, meeting.kept_inside) if not kept else None
    carrier = Carrier(kept, "attribute" if "." in kept else "local") if kept else None
    if not kept and inside is None:
        carrier = Named(meeting).carrier()
    name = carrier.name if carrier else ""
    shown = quoted(name, "part of the graph")
    function = meeting.used.place.function if meeting.used.place is not None and meeting.outside is None else ""
    where = quoted(function if function != "<module>" else "", "the loop")
    first = f"{shown} is computed once and then kept" if kept else f"{shown} is computed once, outside {where}"
    # Of what an iteration has computed from its own data the next one has no use for the history.
    early = meeting.born in ("one earlier", "several earlier") and not kept and inside is None
    early = early and not made_if_missing(meeting)
    if early:
        first = f"{shown} is computed in an early iteration and then kept"
    if inside is not None and meeting.kept_inside is not None:
        first = (
            f"{shown} is computed once and then kept inside a call that `{inside.text(meeting.kept_inside.line)}` makes"
        )
    message = f"{first}; the first backward freed its graph, and the next one needs it again."
    if meeting.changed:
        message = f"{first}; the weights that its graph needs have changed since."
    recompute = remedy(
        "recompute",
        f"compute {shown} in every forward" if kept else f"compute {shown} inside {where}",
        "It depends on parameters that change with every step, so it has to be computed again each time.",
        target=name,
        place=meeting.entry.place,
    )
    detach = remedy(
        "detach",
        f"detach {shown} where it is made",
        "For the losses it is data: what it was computed from is trained by other ways."
        if meeting.is_data or (early and not meeting.only_way)
        else "Right only if it is meant as a constant: what it was computed from is then no longer trained through it.",
        target=name,
        place=meeting.entry.place,
    )
    data = (meeting.is_data and not kept) or (early and not meeting.only_way)
    remedies = [detach, recompute] if data else [recompute, detach]
    return about_meeting(CODE, "hoisted-forward", meeting, message, carrier, remedies)
