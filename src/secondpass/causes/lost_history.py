# SPDX-License-Identifier: BSD-3-Clause
"""The loss has no history: there is nothing for a pass to walk.

## What happened

Somewhere between the model and the loss, history was cut. The loss is a tensor
with the right value and no nodes behind it. The usual cuts:

- `.detach()`, `.data`, a block under `torch.no_grad()` or `inference_mode()`;
- `.item()`, `float(...)`, `.tolist()`, `.numpy()`, and `torch.tensor(...)`
  around a value: what is made anew starts without history;
- `argmax`, comparisons, casts to integers, a sample from a distribution: they
  have no gradient;
- parameters that are all frozen (`requires_grad=False`), or a graph that was
  switched off with `set_grad_enabled(False)` and never on again.

## Why PyTorch refuses

A pass starts at the last node of a loss. Without one there is no way back to
any parameter: the message says that element 0 "does not require grad and does
not have a grad_fn".

Where *part* of a loss lost its history, nothing is said: the rest is walked,
the term is added as a constant and trains nothing, and some parameters may
never be reached (`unreached-parameter`).

## How to tell

Print `x.requires_grad` from the model on; the first line that says False is
the cut. `loss.grad_fn` is None.

## Remedies

- **keep-history**: stay in torch from the model to the loss. `torch.stack` for
  `torch.tensor`, `.mean()` for `numpy.mean`, no `.item()` before the pass;
  numbers for a log are taken after it.
- **other**: where an operation has no gradient, the loss needs another form:
  logits for `argmax`, `log_prob` for a sample, a soft threshold for `>`.

## Example

```python
import torch

model = torch.nn.Linear(3, 1)
losses = []
for x in torch.randn(4, 8, 3):
    losses.append((model(x) ** 2).mean().item())  # the cut
loss = torch.tensor(losses).mean()
loss.backward()  # RuntimeError: does not require grad
```

Tensors, not numbers:

```python
import torch

model = torch.nn.Linear(3, 1)
losses = []
for x in torch.randn(4, 8, 3):
    losses.append((model(x) ** 2).mean())
loss = torch.stack(losses).mean()
loss.backward()
```

## What people do instead, and why not

`loss.requires_grad_()`, or `torch.tensor(value, requires_grad=True)`: the
error goes away, because the loss is now a leaf. The pass ends where it began,
no parameter gets a gradient, and training does nothing, without an error.
"""

from __future__ import annotations

from dataclasses import replace

from ..record import Carrier, Failure, Finding, Trace
from ._finding import pass_evidence, place_of, quoted, remedy, warning
from .facts.cut import constant_terms, find_cut
from .facts.gradients import from_new_leaves
from .facts.lines import root_text
from .missing_create_graph import taken_without

CODE = "SP301"
TITLE = "the loss has no history"
MESSAGES = ("does not require grad and does not have a grad_fn", "element 0 of tensors does not require grad")
REMEDIES = ("keep-history", "other")
TRIED = ("keep-history",)
CAUSED_BY = ("detach", "item")

HOW = {
    "detach": "`.detach()` cuts the history off",
    "data": "`.data` gives the values without their history",
    "item": "a Python number has no history",
    "numpy": "NumPy does not record history",
    "wrap": "a tensor made anew from values starts without history",
    "argmax": "an index has no gradient, so its history ends",
    "compare": "a comparison has no gradient, so history ends",
    "cast": "an integer or boolean tensor cannot carry history",
    "sample": "a sample has no gradient, so its history ends",
    "checkpoint": "a reentrant checkpoint records nothing where none of its inputs requires a gradient",
    "no_grad": "nothing is recorded while gradients are switched off",
    "frozen": "none of the parameters behind it requires a gradient",
}
WITHOUT_GRADIENT = {
    "argmax": "use `torch.nn.functional.gumbel_softmax(scores, hard=True)`, or the straight-through `hard + soft - soft.detach()`,",
    "compare": "use a soft threshold (`torch.sigmoid`), or the straight-through `hard + soft - soft.detach()`,",
    "cast": "use values before they are rounded, or the straight-through `hard + soft - soft.detach()`,",
    "sample": "use `.rsample()`, or a loss of `log_prob`,",
}
"""What to do where history ends at an operation that has no gradient."""


def diagnose(trace: Trace) -> list[Finding]:
    """Passes over a root without a node."""
    failed = [f for f in trace.failures if f.kind == "no-grad" and not _is_gradient(trace, f)]
    return [_explain(trace, f) for f in failed] + _silent(trace) + _in_part(trace)


def is_silent(trace: Trace) -> bool:
    """Whether losses that have lost their history were made to require a gradient."""
    return bool(_silent(trace))


def _silent(trace: Trace) -> list[Finding]:
    """Passes that start from a leaf which nobody trains: a loss without history that was made to require a gradient."""
    bare = from_new_leaves(trace)
    if len(bare) < 2 or not trace.owners or not trace.steps or any(not f.swallowed for f in trace.failures):
        return []
    first = bare[0]
    is_root = max(first.roots or ()) < 0
    if not is_root and trace.window is not None:  # nothing was asked of its statements when it was made
        trace = replace(trace, executed=trace.window.executed)
    finding = _explain(trace, Failure(first.when, "no-grad", place=first.place, stack=first.stack))
    if not is_root and finding.built is None:
        return []  # new leaves of another kind: a network that is made anew for every pass
    message = finding.message.replace("so there is nothing to send back", "so its backward reaches no parameter", 1)
    return [replace(finding, severity="warning", message=message)]


def _in_part(trace: Trace) -> list[Finding]:
    """A loss of which one term is a constant, while the others are walked."""
    if not trace.ended or any(o.bare for o in trace.owners):
        return []  # parameters that only that term leads to say more: unreached-parameter
    found: dict[object, Finding] = {}
    for cut in constant_terms(trace):
        used = trace.at(cut.when)
        name = quoted(cut.name, "a term")
        message = (
            f"{name} is a term of {quoted(root_text(trace, used), 'the loss')} and has lost its history; {HOW[cut.kind]}: "
            "it is added as a constant, and trains nothing."
        )
        keep = remedy(
            "keep-history",
            f"keep {name} in torch, with gradients switched on, from the model to the loss",
            "Gradients flow back only through operations that were recorded.",
            target=cut.name,
            place=cut.place,
        )
        carrier = Carrier(cut.name, "local") if cut.name else None
        one = warning(CODE, "lost-history", message, cut.place, [keep], carrier=carrier, cut=cut.kind)
        used_at = used.place if used is not None else None
        found.setdefault(cut.place, replace(one, built=cut.place, used=used_at))
    return list(found.values())


def _is_gradient(trace: Trace, failure: Failure) -> bool:
    """Whether what has no history is a gradient that was taken without one: that is missing-create-graph."""
    used = trace.at(failure.when)
    return used is not None and taken_without(trace, used) is not None


def _explain(trace: Trace, failure: Failure) -> Finding:
    used = trace.at(failure.when)
    cut = find_cut(trace, used) if used is not None else None
    root = root_text(trace, used)
    kind = cut.kind if cut is not None else ""
    name = cut.name if cut is not None and cut.name else root
    how = HOW.get(kind, "")
    off = used is None or used.recording is not True
    left_off = kind == "no_grad" and cut is not None and not cut.name and off
    message = f"{quoted(root, 'The loss')} has no history, so there is nothing to send back"
    if left_off:
        message += (
            ": gradients were switched off, and not on again." if trace.switches else ": gradients are switched off."
        )
    elif kind == "frozen":
        message += f": {how}."
    else:
        lost = f"{quoted(name, 'it')} loses it; {how}." if kind in HOW else f"{quoted(name, 'it')} starts without one."
        if not name and kind in HOW and cut is not None and cut.place is not None and cut.place.function:
            lost = f"it is lost in `{cut.place.function}`; {how}."
        message += f": {lost}" if cut is not None else "."
    title = f"keep {quoted(name, 'the loss')} in torch from the model to the loss"
    if kind == "frozen":
        title = "let the parameters that are to be trained require a gradient; freeze others, or a copy of them"
    elif left_off:
        title = "switch gradients on again where that part ends: `with torch.no_grad():` does both"
    elif kind == "checkpoint":
        title = "checkpoint with `use_reentrant=False`"
    elif kind == "no_grad":
        title = "compute it with gradients switched on"
    remedies = [
        remedy(
            "other" if kind in ("argmax", "sample") else "keep-history",
            title,
            "Operations on tensors that require no gradient are not recorded."
            if kind == "frozen"
            else "Gradients flow back only through operations that were recorded.",
            target=name,
            place=cut.place if cut is not None else None,
        )
    ]
    return Finding(
        code=CODE,
        cause="lost-history",
        severity="error",
        message=message,
        failed=failure.place,
        carrier=Carrier(name, "local") if name else None,
        built=cut.place if cut is not None else None,
        used=used.place if used is not None else failure.place,
        evidence=tuple(pass_evidence(trace, failure.when, {failure.when: "failed"})),
        remedies=tuple(remedies),
        sure=cut is not None and kind != "unknown",
        facts={"root": root, "cut": kind, "used_stack": [place_of(p) for p in failure.stack]},
    )
