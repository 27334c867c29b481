# SPDX-License-Identifier: BSD-3-Clause
"""Tensors with history are stored (rollout, replay, cache, queue) and used again.

## What happened

A container was filled with tensors as a network made them, history included:
a rollout, a replay memory, a cache of features, a queue of negatives, a
`TensorDataset`. Later they were used as data, more than once. The first pass
through a stored tensor walked back into the network that had made it and
freed that graph; the next one met it freed.

## Why PyTorch refuses

What goes into a list is the tensor with all of its history. For the engine it
is not data but the middle of a graph, and gradients flow on through it, to the
place where it was made. That works once.

## How to tell

The part that is gone was built while the container was filled, often in
another function. The carrier is a slot: `buffer[...]`, `memory["value"]`. The
first epoch over it is fine and the second fails, or the first two batches that
share an element.

## Remedies

- **detach**: store values. `buffer.append(value.detach())`, or fill the
  container under `torch.no_grad()`, which does not even build the graph.
- **recompute**: where gradients should flow through it, store the inputs and
  run the network on them again each time.
- **other**: where it was filled for one update (the log-probabilities of an
  episode), empty it behind the step, so that the next one has its own only.

## Example

```python
import torch

encoder, critic = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
rollout = []
for t in range(4):
    rollout.append(torch.tanh(encoder(torch.randn(1, 4))))

for epoch in range(2):
    for state in rollout:
        loss = (critic(state) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()  # epoch 1: RuntimeError, backward ... a second time
        optimizer.step()
```

What is stored is data:

```python
import torch

encoder, critic = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
rollout = []
for t in range(4):
    rollout.append(torch.tanh(encoder(torch.randn(1, 4))).detach())

for epoch in range(2):
    for state in rollout:
        loss = (critic(state) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
```

## What people do instead, and why not

`retain_graph=True`: every stored element keeps its whole graph alive, so the
container grows to many times its size, and each pass goes on into a network
as it was when the element was made. Its parameters have moved since: an
in-place error comes next (`step-between`), or wrong gradients without one.
`clone()` or `copy.deepcopy` in place of `detach()`: the first keeps the
history, the second refuses tensors that have one.
"""

from __future__ import annotations

from ..record import Carrier, Finding
from ._finding import about_meeting, quoted, remedy
from .facts.kept import keeping_function, made_if_missing
from .facts.meeting import Meeting
from .facts.names import Named, as_written

CODE = "SP107"
TITLE = "tensors with history are stored and used again"
REMEDIES = ("detach", "recompute", "other")
TRIED = ("detach", "recompute", "other")
INSTEAD = "`retain_graph=True` would keep every stored graph alive, with weights that are gone."
CAUSED_BY = ("keep-history",)


def explain(meeting: Meeting) -> Finding:
    """What is stored is data."""
    memo = keeping_function(meeting)
    carrier = Carrier(f"{memo.name}(...)", "slot") if memo is not None else _carrier(meeting)
    name = carrier.name if carrier else ""
    shown = quoted(name, "a stored tensor")
    message = (
        f"{shown} was stored together with its history; the first backward through it freed that "
        "history, and a later one needs it again."
    )
    if meeting.changed:
        message = (
            f"{shown} was stored together with its history, and the weights that this history needs have changed since."
        )
    remedies = [
        remedy(
            "detach",
            f"store {shown} without its history",
            "What is kept for later use is data: its values count, and gradients should not flow back to "
            "where it was made.",
            target=name,
            place=meeting.entry.place,
        ),
        remedy(
            "recompute",
            f"compute {shown} again each time it is used",
            "Right if gradients are meant to flow through it: then it needs a graph of its own every time.",
            target=name,
            place=meeting.entry.place,
        ),
    ]
    # What computes it is being trained: to keep the values would be to keep them from before.
    if memo is not None or made_if_missing(meeting) or meeting.only_way_stored:
        remedies.reverse()
    store = meeting.stores_several
    if memo is None and store is not None and meeting.collected and meeting.only_way_stored:
        remedies.insert(
            0,
            remedy(
                "other",
                f"empty `{as_written(meeting.trace, store.name, ())}` behind the step",
                "It was filled for one update, which has gone through all of it; the next one is for what has come since.",
                target=name,
                place=meeting.used.place,
            ),
        )
    return about_meeting(CODE, "stored-history", meeting, message, carrier, remedies)


def _carrier(meeting: Meeting) -> Carrier | None:
    """The slot of the store, where one was seen: that is what must not hold history."""
    named = Named(meeting)
    found = named.carrier()
    store = meeting.stores_several or meeting.in_turn
    if found is not None and found.name not in named.written:
        store = store or meeting.store  # a name that was only taken from there: `for p in store.values()`
    if meeting.rows is not None and store is None:
        return Carrier(as_written(meeting.trace, f"{meeting.rows.name}[...]", named.written), "slot")
    for b in (*meeting.bound_now, *meeting.bound_then):
        if store is not None and b.number == meeting.entry.number and b.path.is_below(store):
            return Carrier(as_written(meeting.trace, b.name, named.written), b.kind)
    return found
