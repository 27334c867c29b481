# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of earlier steps pile up by accident.

## What happened

`backward()` adds to what is in `.grad`; `step()` reads it and leaves it there.
Nobody cleared it. So every step applied, beside its own gradient, those of all
steps before it.

## Why PyTorch does not refuse

Adding up is a feature: several passes before one step make a larger batch, and
several losses make one gradient. The engine cannot know where a step ends.

In particular this never raises "backward through the graph a second time".
`.grad` is no part of a graph: that error is about saved tensors, and clearing
gradients neither frees nor brings back any.

## How to tell

The norm of the gradients grows step by step, and the loss swings wider and
wider, or creeps with a tiny learning rate. There is no `zero_grad()` between
one `step()` and the next pass, or it belongs to another optimizer or model.

Accumulation on purpose looks different: it clears after the step that used
the gradients, and is not reported.

## Remedies

- **add-zero-grad**: `optimizer.zero_grad()` once per step, anywhere between
  the last `step()` and the first pass of the next.
- **other**: passes that are made for another gradient (an attack's) fill these
  too: `torch.autograd.grad(loss, x)` or `loss.backward(inputs=[x])` does not.

## Example

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    loss.backward()  # no error: adds to the gradients of all steps before
    optimizer.step()
```

Cleared once per step:

```python
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## What people do instead, and why not

A smaller learning rate: the piled-up gradient acts like momentum that never
decays, and no learning rate makes that right. Clipping hides the size and
keeps the direction, which is that of the past.
"""

from __future__ import annotations

import ast

from ..record import Finding, Pass, Place, Step, Trace
from ..source import effects
from ._finding import quoted, remedy, warning
from .facts.gradients import Series, never_applied, series
from .facts.lines import source_of, sources_of
from .facts.reads import reads_in_turn
from .facts.unused import prefix_of

CODE = "SP403"
TITLE = "gradients of earlier steps pile up"
REMEDIES = ("add-zero-grad", "other")
CAUSED_BY = ("combine-losses", "other", "recompute", "reorder")

_TIMES = 3
"""A single time may be an accident of how gradients were looked at."""


def diagnose(trace: Trace) -> list[Finding]:
    """Optimizers whose steps apply again, with new gradients on top, what earlier steps have applied.

    Accumulation on purpose clears the gradients after the step that uses them; then nothing piles up at the next one.
    """
    if _clears_unseen(trace):
        return []
    found = []
    for one in series(trace):
        if not one.optimizer and not _applies_gradients(trace):
            continue  # parameters that are given other values, not moved along their gradients
        closure = next((s for s in reversed(one.closures) if _piles_inside(trace, s)), None)
        if closure is not None:
            found.append(_in_closure(trace, closure))
            continue
        # What a step has applied is never to be applied again, so now and then is too often, for each call of the step.
        sites: dict[Place | None, list[Step]] = {}
        for step in one.plain[1:]:
            sites.setdefault(step.place, []).append(step)
        often = [
            p for s in sites.values() if len(p := [x for x in s if one.piled(x)]) >= _TIMES and 2 * len(p) >= len(s)
        ]
        if often:
            found.append(_explain(trace, one, max(often, key=lambda piled: piled[-1].when)))
            continue
        left = [(s, other) for s in one.plain if (other := one.left_over(trace, s)) is not None]
        if len(left) >= _TIMES and 2 * len(left) >= len(one.plain):
            found.append(_left_over(trace, one, *left[-1]))
            continue
        mixed = [(s, aside) for s in one.plain if (aside := one.aside(trace, s))]
        if len(mixed) > 1:  # each of them repeats it
            found.append(_aside(trace, one, *mixed[-1]))
    return found + [_read(trace, p) for p in never_applied(trace) if len(p) > _TIMES and reads_in_turn(trace, p[-1])]


def _clears_unseen(trace: Trace) -> bool:
    """Whether the program clears gradients in a way that moves no version: on a device nobody sees that."""
    ran = {(p.file, p.line) for p in trace.called or ()}
    for file, source in sources_of(trace):
        for stmt in (s for f, line in ran if f == file for s in source.beginning(line)):
            for effect in effects(stmt, "clear"):
                if effect.how == "zero_" and "grad.data" in source.text(stmt.lineno):
                    return not trace.clears
    return False


def _applies_gradients(trace: Trace) -> bool:
    """Whether a function of the program that ran, so far as these are known, reads a gradient."""
    if trace.called is None:
        return True
    ran = {(p.file, p.line) for p in trace.called}
    for file, source in sources_of(trace):
        for stmt in (s for f, line in ran if f == file for s in source.beginning(line)):
            if any(
                isinstance(n, ast.Attribute) and n.attr == "grad" and isinstance(n.ctx, ast.Load)
                for n in ast.walk(stmt)
            ):
                return True
    return False


def _piles_inside(trace: Trace, step: Step) -> bool:
    """Whether evaluations inside a step added to gradients of other parameters: those of before the step moved them."""
    inner = [p for p in trace.passes if p.when in step.passes]
    times = 0
    for p in inner:
        before = {q.when: q.versions for q in inner if q.when < p.when}
        for leaf, gradient in p.found.items():
            old = [w for w in gradient or () if w in before and leaf in before[w]]
            if any(before[w][leaf] != p.versions.get(leaf, before[w][leaf]) for w in old):
                times += 1
                break
    return times > 1


def _explain(trace: Trace, one: Series, piled: list[Step]) -> Finding:
    step = piled[-1]
    before = [p for p in trace.passes if p.when < step.when and p.kind == "backward" and not p.nested]
    place = before[-1].place if before else step.place
    whose = f"of {quoted(step.optimizer, 'the optimizer')}" if step.optimizer else "made by hand"
    leaves = {n for s in piled for n in one.piled(s)}
    often = "too seldom" if any(leaves & set(c.leaves or ()) for c in trace.clears) else "never"
    # Of some parameters only, where others are cleared: by a part of the network, or another optimizer.
    names = sorted(trace.nodes[n].leaf or "" for n in leaves if n in trace.nodes)
    some = leaves < set(step.used) and all(names)
    of = f"The gradients of {quoted(prefix_of(names), 'some parameters')}" if some else "Gradients"
    message = f"{of} are {often} cleared: steps {whose} apply the gradients of earlier steps again."
    remedies = [
        remedy(
            "add-zero-grad",
            f"call {step.optimizer}.zero_grad() before the backward of every step"
            if step.optimizer
            else "clear the gradients after every step (`p.grad = None`)",
            "backward() adds to the gradients that are there; "
            "what a step has applied must be cleared before the next one.",
            target=step.optimizer,
            place=place,
        )
    ]
    made = max((o.steps for o in trace.owners if o.leaves == step.leaves), default=0)
    seen = f"{len(one.steps)} steps" + (" that were looked at" if made > len(one.steps) else "")
    evidence = [{"what": "note", "text": f"{len(piled)} of {seen} applied old gradients again"}]
    return warning(CODE, "missing-zero-grad", message, place, remedies, evidence=evidence, step=_line(step))


def _left_over(trace: Trace, one: Series, step: Step, left: Pass) -> Finding:
    own = [p for p in trace.passes if p.when < step.when and p.iteration == step.iteration and p.kind == "backward"]
    place = own[-1].place if own else step.place
    name = quoted(one.optimizer, "the optimizer")
    line = f"The pass of line {left.place.line}" if left.place is not None else "Another optimizer's pass"
    message = (
        f"{line} leaves gradients in parameters of {name} after its step, and nothing clears them: in the next iteration "
        f"{name} applies them together with its own."
    )
    remedies = [
        remedy(
            "add-zero-grad",
            f"call {one.optimizer or 'optimizer'}.zero_grad() before the backward that it steps for",
            "backward() fills the gradients of everything that the loss depends on, whoever is to step.",
            target=one.optimizer,
            place=place,
        )
    ]
    return warning(CODE, "missing-zero-grad", message, place, remedies, built=left.place, step=_line(step))


def _aside(trace: Trace, one: Series, step: Step, aside: list[Pass]) -> Finding:
    used = {w for g in step.used.values() for w in g or ()}
    known = [p for p in trace.passes if p.when in used and p not in aside]
    first = next(p for p in known if p.when > aside[-1].when)
    name = quoted(one.optimizer, "the optimizer")
    whole = known[0] is first
    message = (
        f"The {len(aside)} passes of line {aside[-1].place.line if aside[-1].place else '?'} are made to move something else, "
        f"but they leave gradients in the parameters of {name} too, and its step applies them together with its own."
    )
    alone = remedy(
        "other",
        "let those passes give only the gradient that they are made for: `torch.autograd.grad(loss, x)`, "
        "`loss.backward(inputs=[x])`",
        "backward() fills the gradients of everything that the loss depends on.",
        place=aside[-1].place,
    )
    clear = remedy(
        "add-zero-grad",
        f"call {one.optimizer}.zero_grad() before the backward that it steps for",
        "backward() fills the gradients of everything that the loss depends on.",
        target=one.optimizer,
        place=first.place,
    )
    remedies = [clear, alone] if whole else [alone]
    return warning(
        CODE,
        "missing-zero-grad",
        message,
        first.place,
        remedies,
        built=aside[-1].place,
        step=_line(step),
        right_before=True,
    )


def _read(trace: Trace, passes: list[Pass]) -> Finding:
    place = passes[-1].place
    message = (
        f"The gradients that the program reads after each of the {len(passes)} passes here are sums: each has in it what the "
        "passes before it have left. No step ever applies them."
    )
    before = [c for c in trace.clears if c.when <= passes[0].when and c.place is not None]
    clear = before[-1].place if before else None
    source = source_of(trace, clear) if clear and place and clear.function == place.function else None
    stmt = source.statement(clear.line) if source is not None and clear is not None else None
    call = stmt.value if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) else None
    name = ast.unparse(call.func.value) if call is not None and isinstance(call.func, ast.Attribute) else ""
    remedies = [
        remedy(
            "add-zero-grad",
            f"call {name}.zero_grad() before each of these passes"
            if name
            else "clear the gradients before each of these passes",
            "backward() adds to the gradients that are there.",
            target=name,
            place=place,
        )
    ]
    return warning(CODE, "missing-zero-grad", message, place, remedies, right_before=bool(name))


def _in_closure(trace: Trace, step: Step) -> Finding:
    inside = [p for p in trace.passes if p.when in step.passes and p.kind == "backward" and not p.nested]
    place = inside[0].place if inside else step.place
    name = quoted(step.optimizer, "the optimizer")
    message = (
        f"The closure of {name} does not clear the gradients: each evaluation adds to those of the evaluations before, "
        "which belong to other parameters."
    )
    remedies = [
        remedy(
            "add-zero-grad",
            f"call {step.optimizer or 'optimizer'}.zero_grad() in the closure, before its backward",
            "An optimizer that evaluates several times in a step takes the gradient for that of the last evaluation.",
            target=step.optimizer,
            place=place,
        )
    ]
    return warning(CODE, "missing-zero-grad", message, place, remedies, closure=True)


def _line(step: Step) -> dict[str, object] | None:
    return {"file": step.place.file, "line": step.place.line} if step.place is not None else None
