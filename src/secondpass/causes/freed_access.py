# SPDX-License-Identifier: BSD-3-Clause
"""Saved tensors are read after they were freed.

## What happened

Code of your own asked a node for what it saved (`ctx.saved_tensors`,
`y.grad_fn._saved_result`) after a pass had freed it, or asked a checkpoint for
a tensor that it had already given away. No second `backward()` is needed: the
access is what fails.

## Why PyTorch refuses

A node lends out its saved tensors until they are freed. The error text is the
one for a second pass, with "or directly access saved tensors" in brackets:
both are a request for memory that is gone.

Three places where this happens:

- a `ctx`, or a tensor's `grad_fn`, was kept and is read after the pass;
- `ctx.saved_tensors` is read twice in one `backward` under a checkpoint: every
  read asks for the tensors again, and a checkpoint hands each out once;
- with a reentrant checkpoint (`use_reentrant=True`) a tensor with history
  comes into several blocks by closure or attribute instead of as an argument.
  The pass inside the first block frees it, and one plain `backward()` fails
  all by itself.

## How to tell

The innermost line of the traceback is no `backward()` of yours but the access,
or a `backward` method of a `Function`.

## Remedies

- **reorder**: read what you need before the pass that frees it.
- **other**: bind the tensors once (`x, y = ctx.saved_tensors`) and use the
  names; give a checkpointed function all tensors as arguments, or use
  `use_reentrant=False`; keep a copy of your own where a value has to outlive
  the pass.

## Example

```python
import torch

x = torch.ones(3, requires_grad=True)
y = torch.exp(x)
y.sum().backward()
print(y.grad_fn._saved_result)  # RuntimeError: freed by the line above
```

Read first, then send through:

```python
import torch

x = torch.ones(3, requires_grad=True)
y = torch.exp(x)
print(y.grad_fn._saved_result)
y.sum().backward()
```

## What people do instead, and why not

`retain_graph=True` keeps the saved tensors of the whole graph for the sake of
one read. Storing tensors on the context (`ctx.x = x`) hides them from the
engine: changes in place go unnoticed, and an output that is stored like that
may never be freed.
"""

from __future__ import annotations

from dataclasses import replace

from ..record import Carrier, Failure, Finding, Pass, Trace
from ._finding import about_meeting, pass_evidence, place_of, quoted, remedy
from .facts.lines import source_of
from .facts.meeting import Meeting
from .facts.names import Named

CODE = "SP108"
TITLE = "saved tensors are read after they were freed"
REMEDIES = ("reorder", "other")
TRIED = ("reorder", "recompute", "other")
INSTEAD = "`retain_graph=True` would keep the saved tensors of the whole graph."


def explain(meeting: Meeting) -> Finding:
    """One backward that meets what its own inner passes have freed: reentrant checkpoints that share a tensor."""
    named = Named(meeting)
    carrier = named.carrier()
    name = carrier.name if carrier else ""
    shown = quoted(name, "a tensor")
    maker = meeting.trace.maker(meeting.used)
    if maker is not None and "Checkpoint" not in maker.op:
        function = maker.op.removesuffix("Backward")
        message = (
            f"{shown} comes into the backward of `{function}` without being its argument: the pass that one backward made "
            "freed its history, and the next one needs it again."
        )
        title = f"give {shown} to `{function}` as an argument, and return its gradient with the others"
        why = "Each of these backwards makes a pass of its own, which frees whatever comes in by another way"
    else:
        message = (
            f"{shown} reaches several checkpointed blocks without being their argument: the inner pass of "
            "one block freed its history, and the next one needs it again, all in one backward."
        )
        title = f"use checkpoint(..., use_reentrant=False), or give {quoted(name, 'the tensor')} to the block as an argument"
        why = (
            "A reentrant checkpoint runs a backward of its own per block, which frees whatever comes in by another way"
        )
    remedies = [
        remedy(
            "other",
            title,
            f"{why}; `retain_graph=True` outside does not reach it.",
            target=name,
            place=maker.place if maker is not None else meeting.used.place,
        )
    ]
    finding = about_meeting(CODE, "freed-access", meeting, message, carrier, remedies, inside=True)
    bound = (p for p in meeting.entry.stack if (s := source_of(meeting.trace, p)) and name in s.targets(p.line))
    return replace(finding, built=next(bound, finding.built))


def diagnose(trace: Trace) -> list[Finding]:
    """Accesses to freed nodes outside a pass, and saved tensors that a hook gave away once and is asked for again."""
    return [_explain(trace, f) for f in trace.failures if f.kind == "freed-access"]


def _explain(trace: Trace, failure: Failure) -> Finding:
    node = trace.nodes.get(failure.node) if failure.node is not None else None
    freed: Pass | None = None
    if node is not None:
        before = [p for p in trace.passes if p.frees and p.when <= failure.when and p.outcome == "ok"]
        known = [p for p in before if p.walked is not None and node.number in p.walked]
        can = [p for p in before if p.walked is None and (not p.roots or max(p.roots) >= node.number)]
        freed = (known or can or [None])[-1]  # type: ignore[list-item]
    name = failure.names[0] if failure.names else ""
    what = quoted(node.op if node is not None else None, "an operation")
    through = f" through `{name}`" if name else ""
    message = f"The saved tensors of {what} are read{through}, but an earlier backward has freed them."
    remedies = [
        remedy(
            "reorder",
            "read the saved tensors before that backward",
            "A backward frees what the forward saved; keeping the graph would not bring back values that a "
            "step has changed.",
            target=name,
            place=failure.place,
        )
    ]
    return Finding(
        code=CODE,
        cause="freed-access",
        severity="error",
        message=message,
        failed=failure.place,
        carrier=Carrier(name, "local") if name else None,
        built=node.place if node is not None else None,
        freed=freed.place if freed is not None else None,
        used=failure.place,
        evidence=tuple(pass_evidence(trace, failure.when, {freed.when: "freed"} if freed is not None else {})),
        remedies=tuple(remedies),
        sure=node is not None and freed is not None,
        facts={
            "used_stack": [place_of(p) for p in failure.stack],
            "node": node.op if node is not None else "",
            "moves": freed is not None
            and any(freed.when < s.when <= failure.when and s.moved != () for s in trace.steps),
        },
    )
