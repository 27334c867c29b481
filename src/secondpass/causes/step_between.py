# SPDX-License-Identifier: BSD-3-Clause
"""Parameters are updated between a forward and a pass that still needs the old values.

## What happened

A forward saved a parameter. Then an optimizer's `step()` (or a clamp, a
projection, a soft update of a target network) changed that parameter where it
lies in memory. Then the pass came, and the saved tensor no longer held what
the forward had used.

## Why PyTorch refuses

Every tensor counts its changes. A node notes the count of what it saves and
compares it in the pass: a derivative made of old activations and new weights
belongs to no model at all.

Whether the saved tensor has been freed is checked before that. So a program
may first fail with the backward-twice error, and with this one only after
somebody has added `retain_graph=True`.

The check has gaps. A linear layer whose input needs no gradient never saves
its weight, and a change through `p.data` is not counted. The gradient is then
silently that of the old parameters, or of a mixture.

## How to tell

The message says "modified by an inplace operation" and gives the shape of a
weight, often transposed. Look for a `step()` between the line that ran the
forward and the failing pass. Anomaly mode names the forward, not the writer.

## Remedies

- **reorder**: make all passes first, then all steps. Where the losses train
  different parameters this changes nothing but the order.
- **recompute**: where the second loss should see the updated parameters, run
  its forward after the step.

## Example

```python
import torch

make, judge = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
makes = torch.optim.SGD(make.parameters(), lr=0.1)
judges = torch.optim.SGD(judge.parameters(), lr=0.1)

real, fake = torch.randn(8, 4), make(torch.randn(8, 2))
make_loss = -judge(fake).mean()
judge_loss = judge(fake.detach()).mean() - judge(real).mean()
judge_loss.backward()
judges.step()
make_loss.backward()  # RuntimeError: modified by an inplace operation
makes.step()
```

The second forward comes after the step:

```python
import torch

make, judge = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
makes = torch.optim.SGD(make.parameters(), lr=0.1)
judges = torch.optim.SGD(judge.parameters(), lr=0.1)

real, fake = torch.randn(8, 4), make(torch.randn(8, 2))
judge_loss = judge(fake.detach()).mean() - judge(real).mean()
judge_loss.backward()
judges.step()
make_loss = -judge(fake).mean()
make_loss.backward()
makes.step()
```

## What people do instead, and why not

`retain_graph=True` does not help: the saved tensor is there, but changed.
Writing through `.data` hides the change from the count, and the gradient is
wrong without a word. Going back to an old PyTorch is the same: versions before
1.5 did not count an optimizer's changes.
"""

from __future__ import annotations

from ..record import Carrier, Finding, Pass, Step, Trace
from ._finding import about_change, pass_evidence, quoted, remedy, warning
from .facts.change import Change, changes
from .facts.lines import root_text

CODE = "SP201"
TITLE = "parameters are updated between a forward and a backward that still needs them"
MESSAGES = (
    "modified by an inplace operation",
    "one of the variables needed for gradient computation has been modified",
)
REMEDIES = ("reorder", "recompute")
INSTEAD = "`retain_graph=True` does not help: the saved tensors are there, but changed."
CAUSED_BY = ("reorder", "retain-graph")


def diagnose(trace: Trace) -> list[Finding]:
    """In-place errors whose tensor is a parameter, and passes over a forward that a step has left behind."""
    return [_explain(c) for c in changes(trace) if c.is_parameter] + _silent(trace)


def _silent(trace: Trace) -> list[Finding]:
    """Passes that PyTorch let through: nothing that it had saved was changed, but the gradient is of the old values."""
    if any(f.kind != "other" and not f.swallowed for f in trace.failures):
        return []
    found: dict[object, Finding] = {}
    for p in trace.passes:
        if p.walked is None or p.nested or p.outcome != "ok" or p.kind != "backward" or p.place in found:
            continue
        nodes = [n for n in p.walked if n >= 0]
        for s in trace.steps:
            if s.number is None or not nodes or s.passes or not s.when < p.when or max(nodes) >= s.number:
                continue
            if s.moved == () or s.thread != p.thread:
                continue
            if set(s.leaves or ()) & p.walked and any(t.when > p.when and t.leaves == s.leaves for t in trace.steps):
                found[p.place] = _left_behind(trace, p, s)
                break
    return list(found.values())


def _left_behind(trace: Trace, used: Pass, step: Step) -> Finding:
    root = root_text(trace, used)
    shown, name = quoted(root, "the loss"), quoted(step.optimizer, "the optimizer")
    message = (
        f"{shown} was computed before a step of {name} moved the parameters, and goes through backward after it: "
        "the gradient is that of the old parameters."
    )
    remedies = [
        remedy(
            "recompute",
            f"compute {shown} again after the step",
            "A gradient belongs to the parameters that its forward used.",
            target=root,
            place=used.place,
        ),
        remedy(
            "reorder",
            "make all backward passes before the step",
            "Then all the gradients belong to the same parameters.",
            target=step.optimizer,
            place=step.place,
        ),
    ]
    carrier = Carrier(root, "local") if root else None
    evidence = pass_evidence(trace, used.when)
    return warning(
        CODE,
        "step-between",
        message,
        used.place,
        remedies,
        carrier=carrier,
        freed=step.place,
        used=used.place,
        evidence=evidence,
        root=root,
    )


def _explain(change: Change) -> Finding:
    trace, write = change.trace, change.write
    root = root_text(trace, change.used)
    shown = quoted(write.target if write else None, "a parameter")
    how = f"`{write.how}`" if write is not None and write.how else "An in-place operation"
    step = change.step
    by = how if step is None else f"`{step.optimizer}.step()`" if step.optimizer else "An optimizer's `step()`"
    message = (
        f"{by} changed {shown} after the forward of {quoted(root, 'this loss')}, "
        "whose backward still needs the old values."
    )
    reorder = remedy(
        "reorder",
        "make all backward passes before the parameters change",
        "A backward belongs to the values that its forward used; change them after the last backward that needs them.",
        target=write.target if write else "",
        place=write.place if write else None,
    )
    recompute = remedy(
        "recompute",
        f"compute {quoted(root, 'the loss')} again after the change",
        "The new forward uses the new parameters, so that its backward fits them.",
        target=root,
        place=change.used.place if change.used else None,
    )
    first = [recompute, reorder] if change.other_network or change.kept_apart else [reorder, recompute]
    return about_change(CODE, "step-between", change, message, first)
