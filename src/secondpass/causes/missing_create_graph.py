# SPDX-License-Identifier: BSD-3-Clause
"""A gradient is differentiated again but was computed without `create_graph`.

## What happened

A loss contains a gradient: a gradient penalty, a force, an inner step of
meta-learning, a Hessian. The gradient was taken with `autograd.grad(...)` and
nothing more. That pass freed the graph as every pass does, and it recorded
nothing of its own work, so the gradient came out as a constant.

## Why PyTorch refuses

It does so only where the loss also needs the graph that the first pass freed.
In the commoner case the forward is run again for the loss, and nothing fails:
the penalty is then a number without history, it adds nothing to any gradient,
and the model trains as if it were not there. MAML without `create_graph` is
first-order MAML. Nothing says so.

## How to tell

`gradient.requires_grad` is False. In a failing program, the call that freed
is `autograd.grad`, and what it returned is part of the loss that failed.

## Remedies

- **create-graph**: `torch.autograd.grad(out, x, create_graph=True)`. The pass
  is then recorded like a forward, and the gradient has a history. It implies
  `retain_graph`, so the first graph stays as well.

Take it with `grad`, not with `backward(create_graph=True)`: the latter writes
into `.grad`, whose history refers to the parameter it belongs to, and that
circle keeps its memory until the gradient is cleared.

## Example

```python
import torch

critic = torch.nn.Sequential(
    torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
)
x = torch.randn(5, 3, requires_grad=True)

score = critic(x).sum()
(slope,) = torch.autograd.grad(score, x)
penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
loss = penalty - score
loss.backward()  # RuntimeError: backward ... a second time
```

The gradient needs a history of its own:

```python
import torch

critic = torch.nn.Sequential(
    torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
)
x = torch.randn(5, 3, requires_grad=True)

score = critic(x).sum()
(slope,) = torch.autograd.grad(score, x, create_graph=True)
penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
loss = penalty - score
loss.backward()
```

## What people do instead, and why not

`retain_graph=True` in the `grad` call: the error goes away and the penalty
stays a constant. It is the most expensive kind of silence, for the model
trains and the paper says "with gradient penalty". Setting
`slope.requires_grad_()` makes a leaf of it: still nothing behind it.
"""

from __future__ import annotations

from ..record import Carrier, Finding, Pass, Place, Remedy, Trace
from ._finding import about_meeting, about_region, pass_evidence, place_of, quoted, remedy
from .facts.flow import flows_into, is_term_of, name_of
from .facts.meeting import Meeting
from .facts.names import Named

CODE = "SP109"
TITLE = "a gradient is differentiated again but was computed without create_graph"
REMEDIES = ("create-graph",)
INSTEAD = "`retain_graph=True` keeps the graph, but the gradient itself still has no history."


def taken_without(trace: Trace, later: Pass) -> Pass | None:
    """The gradient, taken without a graph of its own, that a later pass starts from."""
    if later.recording is False:
        return None  # nothing is recorded then: that is why it has no history
    before = [
        p
        for p in trace.passes
        if p.when < later.when
        and p.kind == "grad"
        and not p.create
        and p.outcome == "ok"
        and _of_trained(trace, p)
        and _of_asked(p, later)
    ]
    return next((p for p in reversed(before[-8:]) if flows_into(trace, p, later)), None)


def _led_to(first: Pass, later: Pass) -> bool:
    """Whether the graph of the gradient, had there been one, led to something that a later gradient is taken of."""
    return first.behind is not None and not first.behind.isdisjoint(later.inputs or ())


def _of_trained(trace: Trace, first: Pass) -> bool:
    """Whether a graph of the gradient would lead to anything that an optimizer owns."""
    owned = {n for o in trace.owners for n in o.leaves}
    return not owned or first.behind is None or bool(first.behind & owned)


def _of_asked(first: Pass, later: Pass) -> bool:
    """Whether a graph of the gradient could lead to what a later pass asks for: what it was not computed with, such as a leaf
    that was made since, it does not depend on."""
    asked = later.inputs or ()
    return not asked or first.behind is None or max(asked) >= 0 or _led_to(first, later)


def _trains_others(trace: Trace, first: Pass, later: Pass) -> bool:
    """Whether the steps that use a later pass move nothing that the gradient was taken through: for them it is a number (the
    weights of several losses, found by how large their gradients are)."""
    like = {p.when for p in trace.passes if p.stack == later.stack}
    steps = [s for s in trace.steps if any(not like.isdisjoint(g or ()) for g in s.used.values())]
    moved = {n for s in steps for n in (s.leaves or ())}
    return bool(moved) and first.behind is not None and moved.isdisjoint(first.behind)


def diagnose(trace: Trace) -> list[Finding]:
    """Gradients without a graph that are differentiated again: those that fail, and those that do so in silence."""
    found: dict[object, Finding] = {}
    for failure in trace.failures:
        used = trace.at(failure.when)
        first = taken_without(trace, used) if failure.kind in ("no-grad", "unused") and used is not None else None
        if first is not None and used is not None and (failure.kind == "no-grad" or _led_to(first, used)):
            found[first.place] = _constant(trace, first, used, "error")
    for failure in (f for f in trace.failures if f.kind == "double-backward"):
        message = (
            "A gradient that went through a compiled region is differentiated again, which compiled regions "
            "do not support."
        )
        advice = remedy(
            "other",
            "run that part of the model uncompiled where its gradient is differentiated (torch.compiler.disable)",
            "A compiled region is one node without a derivative of its derivative.",
        )
        found[failure.place] = about_region(CODE, "missing-create-graph", trace, failure, message, [advice])
    if not any(f.kind != "other" and not f.swallowed for f in trace.failures):
        for first in trace.passes:
            if first.kind != "grad" or first.create or first.nested or first.place in found:
                continue
            later = next(
                # A pass without roots is one that may have been made.
                (p for p in trace.passes if p.when > first.when and p.kind == "backward" and not p.nested and p.roots),
                None,
            )
            known = first.behind is not None and _of_trained(trace, first)
            if later is None or not known or _trains_others(trace, first, later):
                continue
            if is_term_of(trace, first, later):
                found[first.place] = _constant(trace, first, later, "warning")
    return list(found.values())


def _constant(trace: Trace, first: Pass, later: Pass, severity: str) -> Finding:
    name = name_of(trace, first)
    shown = quoted(name, "A gradient")
    end = "so for the loss it is a constant, and trains nothing."
    if severity == "error":
        end = "so there is nothing to differentiate" + (" through it." if later.roots else ".")
    message = (
        f"{shown} is a gradient that becomes part of a loss, but it was taken without create_graph=True: "
        f"it has no history, {end}"
    )
    return Finding(
        CODE,
        "missing-create-graph",
        severity,
        message,
        failed=later.place if severity == "error" else first.place,
        carrier=Carrier(name, "local") if name else None,
        built=first.place,
        freed=first.place,
        used=later.place,
        evidence=tuple(pass_evidence(trace, later.when, {first.when: "without create_graph"})),
        remedies=(_remedy(first.place),),
        facts={"freed_stack": [place_of(p) for p in first.stack]},
    )


def explain(meeting: Meeting) -> Finding:
    """Without its own graph the gradient is a constant."""
    carrier = Named(meeting).carrier()
    shown = quoted(carrier.name if carrier else None, "the forward")
    message = (
        f"The gradient of {shown} is part of the loss, but it was taken without create_graph: that freed "
        "the graph, and left the gradient a constant."
    )
    place = meeting.freed.place if meeting.freed is not None else None
    return about_meeting(CODE, "missing-create-graph", meeting, message, carrier, [_remedy(place)])


def _remedy(place: Place | None) -> Remedy:
    why = "A loss that contains a gradient must be differentiated through it; create_graph records how it was computed."
    return remedy("create-graph", "take that gradient with create_graph=True", why, safe=True, place=place)
