# SPDX-License-Identifier: BSD-3-Clause
"""The same loss is sent through backward twice, with no new forward between.

## What happened

Two passes started from the same root, and no forward was run in between. The
first pass freed the saved tensors of every node it walked. The second one came
to the same nodes and found them freed.

In a loop, the forward usually stands above the loop that it belongs into.
Outside of loops two pieces of code each call `backward()`: a method and its
caller, the script and the trainer, a notebook cell that was run twice.
`(loss / 2).backward()` after `loss.backward()` is the same thing: scaling a
loss does not make a new forward. Nor does computing it once more of the same
output: `criterion(out, y).backward()`, twice. And what was added up into a
loss has been through backward with it.

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
- **retain-graph**: where one of the two is a `torch.autograd.grad()` that only
  looks (a logged norm), and no step lies between. To read `.grad` behind
  `backward()` is cheaper.

## Example

```python
import torch

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
import torch

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

from dataclasses import replace

from ..record import Finding, Place
from ._finding import about_meeting, quoted, remedy
from .facts.lines import call_text, root_text
from .facts.meeting import Meeting
from .facts.names import Named
from .facts.operations import multiplies
from .facts.steps import moves_between

CODE = "SP101"
TITLE = "the same loss goes through backward twice"
REMEDIES = ("recompute", "other", "retain-graph")
INSTEAD = "`retain_graph=True` would add the same gradients a second time."


def explain(meeting: Meeting) -> Finding:
    """In a loop the forward is missing from it; otherwise one of the two passes is one too many, unless only one of them leaves
    its gradient in place."""
    name = root_text(meeting.trace, meeting.used)
    shown = quoted(name, "the same loss")
    looping = meeting.outside is not None or meeting.same_site
    moves, adds = _moves(meeting), _adds(meeting)
    asks = not meeting.same_site and meeting.freed is not None and "grad" in (meeting.freed.kind, meeting.used.kind)
    products = _products(meeting)
    callers = not meeting.same_site and meeting.freed is not None and meeting.freed.place == meeting.used.place
    if callers and meeting.outside is not None and moves and _of_one_function(meeting):
        callers = False  # one function asks for it once, and in a loop of its own for more of it
    again = remedy(
        "recompute",
        f"compute {shown} again before {'every' if looping or moves else 'the second'} backward",
        "Each backward needs a forward of its own: the parameters have changed, and so must the loss."
        if moves or (looping and not adds)
        else "In every iteration a new loss; if one loss is meant, take its backward out of the loop."
        if looping
        else "A second pass needs a forward of its own.",
        target=name,
        place=meeting.entry.place,
    )
    once = remedy(
        "other",
        "remove one of the two backward calls",
        "The gradients are there after the first pass; a second one over the same loss would count them twice.",
        target=name,
        place=meeting.used.place,
    )
    message = f"{shown} goes through backward a second time: an earlier call has done it already."
    first = meeting.freed.place if meeting.freed is not None else None
    if first is not None and root_text(meeting.trace, meeting.freed) and not root_text(meeting.trace, meeting.used):
        # Its line says nothing of a loss: it calls somebody who has been given it.
        once = replace(
            once,
            title="leave the pass to what is called there: take your own away, and look at gradients behind its pass, or ask "
            "torch.autograd.grad(..., retain_graph=True) for them",
            why="The loss that it is given goes through backward there; an earlier pass would count its gradients twice.",
            place=first,
        )
        call = call_text(meeting.trace, meeting.used)
        message = f"`{call}` sends the loss that it is given through backward, and the program has done so already."
    if (asks or products) and not moves:
        if products:
            message = f"{shown} is sent through backward once more, with a vector of its own, and the pass before has freed its graph."
        keep = remedy(
            "retain-graph",
            "keep the graph until the last vector has been sent through"
            if products
            else "keep the graph in the first of the two calls, or read what backward leaves in `.grad`",
            "Each vector has a product of its own with the derivative, and no parameter changes between them."
            if products
            else "Only one of the two adds to `.grad`, and no parameter changes between them: the gradients stay what they are.",
            target=name,
            place=meeting.freed.place if meeting.freed is not None else None,
        )
        remedies = [keep, again]
    elif asks:
        early = remedy(
            "other",
            "take the gradient before the step: behind backward it is in `.grad`",
            "What is asked for is the gradient of this loss, and the step has moved what it was computed with.",
            target=name,
            place=meeting.used.place,
        )
        remedies = [early, again]
    elif callers:
        # One statement, to which the program came by two ways: both mean to make this pass.
        one = replace(
            once,
            title=f"let one of the two callers make the pass{_ways(meeting)}",
            why="Both send the same loss through, and what the second one would add is counted already.",
        )
        remedies = [one, again]
    elif looping or moves:
        message = (
            f"{shown} is sent through backward again, but no forward pass has computed it anew since the last time."
        )
        remedies = [again]
        if meeting.next_player:
            joint = remedy(
                "other",
                f"send {shown} through once, before the optimizers step in turn",
                "One pass gives every parameter its gradient, and each optimizer applies its own part of it.",
                target=name,
                place=meeting.used.place,
            )
            remedies = [joint, again]
    else:
        remedies = [once] if adds else [once, again]
    if first is not None and remedies[0] is once and _entered(meeting):
        remedies[0] = replace(
            once,
            title="remove the backward call before the step, and compute the loss in the closure, which the step may call again",
            why="The closure is where the step expects its pass; an earlier one over the same loss would count it twice.",
            place=first,
        )
    # Made in some turns only, the second pass is to weigh those.
    shares = _shares(meeting) or _now_and_then(meeting)
    if shares and remedies[0] is once:
        remedies[0] = replace(
            once,
            title="send the loss through once, with the factor that is meant: whole where each backward has a share of it",
            why="Gradients add up from call to call: which sum of them is meant cannot be told.",
        )
    return about_meeting(
        CODE,
        "repeated-backward",
        meeting,
        message,
        Named(meeting).carrier(),
        remedies,
        looping=looping,
        moves=moves,
        adds=adds,
        asks=asks,
        products=products,
        callers=callers,
        shares=shares,
        in_turn=bool(meeting.next_player),
        closure=any(meeting.used.when in s.passes for s in meeting.trace.steps),
        entered=_entered(meeting),
    )


def _ways(meeting: Meeting) -> str:
    """Where the ways by which two passes came to one statement part."""
    parts = _parting(meeting)
    return f" ({' and '.join(f'{p.file}:{p.line}' for p in parts)})" if parts else ""


def _parting(meeting: Meeting) -> tuple[Place, ...]:
    assert meeting.freed is not None
    pairs = zip(meeting.freed.stack, meeting.used.stack, strict=False)
    return next(((a, b) for a, b in pairs if a != b), ())


def _of_one_function(meeting: Meeting) -> bool:
    """Whether the ways by which two passes came to one statement part within a function."""
    return len({(p.file, p.function) for p in _parting(meeting)}) == 1


def _products(meeting: Meeting) -> bool:
    """Whether each of the two passes was given a vector of its own, to be multiplied with one derivative."""
    freed, used = meeting.freed, meeting.used
    return freed is not None and "grad" in (freed.kind, used.kind) and bool(freed.given) and freed.given != used.given


def _moves(meeting: Meeting) -> bool:
    """Whether parameters moved between the two passes. A step that is under way has moved none before its closure has returned,
    nor between two calls in it."""
    freed, used = meeting.freed, meeting.used
    if (
        freed is not None
        and not meeting.same_site
        and any({freed.when, used.when} <= set(s.passes) for s in meeting.trace.steps)
    ):
        return any(k in freed.versions and freed.versions[k] != v for k, v in used.versions.items())
    if freed is not None and _entered(meeting):
        return any(k in freed.versions and freed.versions[k] != v for k, v in used.versions.items())
    return bool(meeting.steps_between or meeting.moved) or (
        freed is not None and moves_between(meeting.trace, freed, used)
    )


def _entered(meeting: Meeting) -> bool:
    """Whether the second pass is made by the closure of a step that began behind the first one, and no other step came between."""
    freed, used, between = meeting.freed, meeting.used, meeting.steps_between
    return (
        freed is not None
        and bool(between)
        and all(used.when in s.passes and freed.when not in s.passes for s in between)
    )


def _shares(meeting: Meeting) -> bool:
    """Whether each pass begins with a multiple of the loss that was made for it. What a scaler makes of the loss that it is given
    is that loss."""
    freed, used = meeting.freed, meeting.used
    if freed is None or freed.walked is None or set(freed.roots or ()) & set(meeting.walked):
        return False
    own = [n for k, n in meeting.walked.items() if n.leaf is None and k not in freed.walked]
    if not own or not all(map(multiplies, own)):
        return False
    given = root_text(meeting.trace, used).replace(".", "_").isidentifier()
    made = [n for k in used.roots or () if (n := meeting.walked.get(k)) is not None]
    return not (given and made and all(used.place in n.stack for n in made))


def _now_and_then(meeting: Meeting) -> bool:
    """Whether the first of the two calls has been made before without the second one."""
    freed, used = meeting.freed, meeting.used
    return freed is not None and not meeting.same_site and (freed.iteration or 0) > (used.iteration or 0) > 0


def _adds(meeting: Meeting) -> bool:
    """Whether the second pass adds to gradients that the first one has left."""
    freed, used = meeting.freed, meeting.used
    if freed is None or "grad" in (freed.kind, used.kind):
        return False
    return not any(
        freed.when < c.when <= used.when and (c.leaves is None or set(c.leaves) & meeting.leaves)
        for c in meeting.trace.clears
    )
