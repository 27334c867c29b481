# SPDX-License-Identifier: BSD-3-Clause
"""Gradients are wiped before the step used them.

## What happened

The pass computed gradients, `zero_grad()` cleared them, and then came
`step()`, with nothing to apply. The program runs, logs a loss, writes
checkpoints and trains nothing.

## Why PyTorch does not refuse

A parameter without a gradient is ordinary: frozen layers and unused branches
have none, and `step()` passes over them. Since `zero_grad()` sets gradients
to None by default, it passes over all of them and does nothing at all: no
momentum, no weight decay, not even with AdamW. With `set_to_none=False` the
gradients are zeros, and momentum and decay go on by themselves, which looks
even more like training.

## How to tell

The loss moves only as the data does. A parameter is bit by bit the same after
`step()` as before. Between the pass and the step stands a `zero_grad()`: a
direct one, or one in a callback, in a second training loop, in the loss.

## Remedies

- **reorder**: clear before the pass or after the step. The order of a step is
  clear, forward, pass, step.

## Example

```python
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.weight.detach().clone()
for step in range(4):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()  # no error: nothing to apply
assert (model.weight == before).all()
```

Cleared before the pass:

```python
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.weight.detach().clone()
for step in range(4):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
assert (model.weight != before).any()
```

## What people do instead, and why not

They search the data, the loss and the learning rate, because "it trains, only
badly". Deleting `zero_grad()` altogether makes the model move, on gradients
that pile up (`missing-zero-grad`).
"""

from __future__ import annotations

import ast
from itertools import pairwise

from ..record import Finding, Owner, Pass, Place, Step, Trace
from ._finding import quoted, remedy
from ._silent import warning
from ._source import source_of

CODE = "SP404"
TITLE = "gradients are wiped before the step uses them"
REMEDIES = ("reorder",)

_TIMES = 3
_SHOWN = ("autograd.grad", "norm(", ".item(", "float(", "print(", "zero_", "clip_")


def diagnose(trace: Trace) -> list[Finding]:
    """Optimizers all of whose steps found gradients that a pass had made gone again."""
    by_optimizer: dict[tuple[str, object], list[Step]] = {}
    for step in trace.steps:
        by_optimizer.setdefault((step.optimizer, step.leaves), []).append(step)
    found = [
        _explain(trace, s) for s in by_optimizer.values() if len(s) > 1 and all(_wiped(trace, *x) for x in pairwise(s))
    ]
    return found or _wasted(trace) or _always_lost(trace)


def _always_lost(trace: Trace) -> list[Finding]:
    """Parameters that passes do give gradients to, but never their own optimizer's last pass before its step: its
    clearing has always come in between. (What is cleared after that last pass is kept from moving on purpose.)"""
    if not trace.ended or any(f.kind != "other" and not f.swallowed for f in trace.failures):
        return []
    found = []
    for owner in trace.owners:
        others = {n for o in trace.owners if o is not owner for n in set(o.leaves) - set(o.never)}
        reached = [p for p in trace.passes if p.when > (owner.first or 0) and p.kind == "backward" and not p.nested]
        held = {n for s in trace.steps if s.leaves == owner.leaves for n in s.empty}
        lost = set(owner.never) - others - held
        hits = [p for p in reached if lost & (p.walked or frozenset())]
        if owner.steps > _TIMES and len(hits) >= _TIMES and lost != set(owner.leaves):
            found.append(
                _lost(trace, owner, sorted(trace.nodes[n].leaf or "" for n in lost if n in trace.nodes), hits[-1])
            )
    return found[:1]  # networks that are alike make the same mistake


def _lost(trace: Trace, owner: Owner, names: list[str], one: Pass) -> Finding:
    shown = quoted(next((n for n in names if n), ""), "some parameters")
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    message = (
        f"{shown}{more} get gradients only from passes before {quoted(owner.name, 'their optimizer')} clears them for "
        "its own: no step ever uses them, and they never change."
    )
    remedies = [
        remedy(
            "reorder",
            "clear all gradients before the first backward, and make all steps after the last one",
            "A step can only apply gradients that are still there.",
            target=owner.name,
            place=one.place,
        )
    ]
    return warning(CODE, "misplaced-zero-grad", message, _cleared_at(trace, one), remedies, used=one.place)


def _wasted(trace: Trace) -> list[Finding]:
    """Call sites most of whose gradients are cleared before a step comes, while steps do use the others.

    A pass that is only made for the gradient of an input (an attack, a saliency map) stands at a place of its own, and
    no step uses it; a batch that is skipped now and then is the exception.
    """
    if any(f.kind != "other" and not f.swallowed for f in trace.failures):
        return []
    sites: dict[object, list[Pass]] = {}
    for p in trace.passes:
        whole = p.outcome == "ok" and p.inputs is None and p.wasted is not None
        if p.kind == "backward" and not p.nested and whole:
            sites.setdefault(p.stack, []).append(p)
    found = []
    for passes in sites.values():
        lost = [p for p in passes if p.wasted]
        used = [p for p in passes if not p.wasted]
        often = len(lost) >= 2 * _TIMES and len(used) >= _TIMES and len(lost) >= len(used)
        if often and not _taken(trace, passes[0]):
            message = (
                f"{len(lost)} of {len(passes)} backward passes were in vain: their gradients were "
                "cleared before a step used them."
            )
            remedies = [
                remedy(
                    "reorder",
                    "clear the gradients once per step, right after it",
                    "Gradients add up from pass to pass until the step; clearing them in between throws them away.",
                    place=passes[0].place,
                ),
            ]
            found.append(
                warning(
                    CODE, "misplaced-zero-grad", message, _cleared_at(trace, passes[0]), remedies, used=passes[0].place
                )
            )
    return found


def _taken(trace: Trace, one: Pass) -> bool:
    """Whether the function around a pass takes the gradients for itself (`grads.append(p.grad.clone())`): then they are
    not lost when they are cleared. A norm that is only shown does not count."""
    for place in one.stack[:2]:
        source = source_of(trace, place)
        for stmt in ast.walk(source.function(place.line)) if source is not None else ():
            if isinstance(stmt, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)):
                text = ast.unparse(stmt)
                reads = any(_is_read(n) for n in ast.walk(stmt))
                if reads and not any(word in text for word in _SHOWN):
                    return True
    return False


def _is_read(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "grad" and isinstance(node.ctx, ast.Load)


def _cleared_at(trace: Trace, one: Pass) -> Place | None:
    """The line that clears gradients nearest before a pass in its function, else the pass itself."""
    for place in one.stack:
        source = source_of(trace, place)
        if source is None:
            continue
        function = source.function(place.line)
        lines = [
            n.lineno
            for n in ast.walk(function)
            if isinstance(n, ast.Call) and ast.unparse(n.func).endswith("zero_grad")
        ]
        if lines:
            return Place(place.file, max([n for n in lines if n <= place.line] or lines), place.function)
    return one.place


def _wiped(trace: Trace, last: Step, step: Step) -> bool:
    """Whether a pass since the last step reached leaves that now have no gradient; others never get one.

    What a failed pass has left is cleared on purpose.
    """
    backward = [p for p in trace.passes if p.kind == "backward" and p.outcome == "ok"]
    between = [p for p in backward if last.when < p.when < step.when]
    if any(p.walked is None for p in between):
        return bool(step.empty)
    return any(p.walked and p.walked & set(step.empty) for p in between)


def _last_pass(trace: Trace, step: Step) -> int:
    return max((p.when for p in trace.passes if p.when < step.when), default=-1)


def _explain(trace: Trace, steps: list[Step]) -> Finding:
    wiped = [z for s in steps[1:] for z in trace.zero_grads if _last_pass(trace, s) < z.when <= s.when]
    place = wiped[0].place if wiped else steps[-1].place
    name = quoted(steps[-1].optimizer, "the optimizer")
    message = f"The gradients are cleared between the backward and the step, so the steps of {name} change nothing."
    remedies = [
        remedy(
            "reorder",
            "clear the gradients after the step, or before the backward",
            "A step can only apply gradients that are still there.",
            target=steps[-1].optimizer,
            place=place,
        )
    ]
    count = sum(1 for s in steps if s.empty)
    evidence = [{"what": "note", "text": f"{count} of {len(steps)} steps had no gradient to apply"}]
    return warning(CODE, "misplaced-zero-grad", message, place, remedies, used=steps[-1].place, evidence=evidence)
