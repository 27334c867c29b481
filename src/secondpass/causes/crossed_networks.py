# SPDX-License-Identifier: BSD-3-Clause
"""One network's output goes through another network's pass and again through its own.

## What happened

Two networks are trained in turn, each with an optimizer of its own: generator
and discriminator, actor and critic, student and teacher. The output of one
went, with its history, into the loss of the other. That loss's pass walked
back through both networks and freed the graph of both. Then the first
network's own loss, made from the same output, needed its graph again.

## Why PyTorch refuses

The engine knows no networks, only history. A loss of the discriminator on
`fake` has `fake`'s history, so its pass goes through the generator as well,
computes gradients there that nobody wants, and frees what it has walked.

Two networks in one program share nothing by themselves. They do when a tensor
with history goes from one to the other, and only then.

## How to tell

The failing pass and the pass that freed belong to different optimizers. What
both walk is the output of one network: made once, used in both losses.

## Remedies

- **detach**: give the loss that does not train the network its output without
  history: `discriminator(fake.detach())`. For that loss it is data.
- **reorder**: finish with one network, pass and step, before the forward of
  the other is run.
- **recompute**: a forward of its own for the second pass is right as well, at
  the price of another forward.

## Example

```python
import torch

make, judge = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
makes = torch.optim.SGD(make.parameters(), lr=0.1)
judges = torch.optim.SGD(judge.parameters(), lr=0.1)

real, fake = torch.randn(8, 4), torch.tanh(make(torch.randn(8, 2)))
judge_loss = judge(fake).mean() - judge(real).mean()
judge_loss.backward()  # walks `make` as well, and frees it
judges.step()
makes.zero_grad()
make_loss = -judge(fake).mean()
make_loss.backward()  # RuntimeError: backward ... a second time
makes.step()
```

For the judge, `fake` is data:

```python
import torch

make, judge = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
makes = torch.optim.SGD(make.parameters(), lr=0.1)
judges = torch.optim.SGD(judge.parameters(), lr=0.1)

real, fake = torch.randn(8, 4), torch.tanh(make(torch.randn(8, 2)))
judge_loss = judge(fake.detach()).mean() - judge(real).mean()
judge_loss.backward()
judges.step()
makes.zero_grad()
make_loss = -judge(fake).mean()
make_loss.backward()
makes.step()
```

## What people do instead, and why not

`retain_graph=True` in the first pass. It ends the error; but that pass still
goes through the other network, for gradients that a later `zero_grad()` must
throw away. Where that is forgotten, the generator is trained on the sum of
two opposite losses.
"""

from __future__ import annotations

from ..record import Finding, Node, Pass
from ._finding import about_meeting, quoted, remedy
from .facts.meeting import Meeting
from .facts.names import Named
from .facts.operations import joins

CODE = "SP106"
TITLE = "one network's output goes through another network's backward and again through its own"
REMEDIES = ("detach", "reorder", "recompute")
TRIED = ("detach", "recompute", "reorder")
INSTEAD = "`retain_graph=True` would keep the graph for a gradient that must not be used."


def _is_foreign(meeting: Meeting, one: Pass | None) -> bool | None:
    """Whether a pass is for an optimizer that owns nothing of what lies behind the entries; None where it cannot be told."""
    player = meeting.player(one)
    if not player:
        return None
    return not any(meeting.through & set(o.leaves) for o in meeting.trace.owners if o.name in player)


def _is_tangled(meeting: Meeting, *foreign: bool | None) -> bool:
    """Whether both players train what one value brings: cut there, and one of them would not."""
    if meeting.next_player and any(n is not None and joins(n) and _is_mixed(meeting, n) for n, _ in meeting.boundary):
        return True
    if True in foreign:
        return False
    strangers = [o for o in meeting.owners(meeting.anew) if not meeting.through & set(o.leaves)]
    if strangers and None in foreign:
        return False
    return any(_is_mixed(meeting, e) for e in meeting.entries)


def _is_mixed(meeting: Meeting, node: Node) -> bool:
    """Whether several optimizers own what lies behind a node."""
    return len(meeting.owners(n.number for n in meeting.trace.history(node.number) if n.leaf is not None)) > 1


def explain(meeting: Meeting) -> Finding:
    """Cut where the pass that does not train the shared network meets its output."""
    carrier = Named(meeting).carrier()
    name = carrier.name if carrier else ""
    shown = quoted(name, "one network's output")
    freed = meeting.freed
    assert freed is not None
    first, second = _is_foreign(meeting, freed), _is_foreign(meeting, meeting.used)
    tangled = _is_tangled(meeting, first, second)
    seen = first is not None and bool(first) is not bool(second)
    # Where the first pass trains what is shared, the next one, yet without a step, is the foreign one.
    others = first is False and second is None
    if first is None:
        # The pass whose own network is not the shared one has no business in the shared graph.
        first = len(meeting.owners(set(freed.walked or ()))) > 1
    foreign_first = first or not (second or others)
    where = freed if foreign_first else meeting.used
    both = first and second
    message = (
        f"{shown} goes through two networks' passes: the first backward freed its history, "
        "and the second one needs it again."
    )
    if both:
        message = (
            f"{shown} brings another network's history into this one's passes: the first backward freed it, "
            "and the next one needs it again."
        )
    remedies = [
        remedy(
            "detach",
            f"give {'the losses' if both else 'the first loss' if foreign_first else 'the second loss'} {shown} without its history",
            "That pass trains another network; for it the values are data, "
            "and no gradient should flow back through them.",
            target=name,
            place=where.place,
        ),
        remedy(
            "recompute",
            f"compute {shown} again for the second pass",
            "Each network then gets a graph of its own, at the price of another forward.",
            target=name,
            place=meeting.entry.place,
        ),
    ]
    if tangled:
        remedies.reverse()
    return about_meeting(
        CODE,
        "crossed-networks",
        meeting,
        message,
        carrier,
        remedies,
        foreign="freed" if foreign_first else "used",
        foreign_seen=seen,
    )
