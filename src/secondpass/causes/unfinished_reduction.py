# SPDX-License-Identifier: BSD-3-Clause
"""DistributedDataParallel still waits for gradients of the last pass when the next forward begins.

## What happened

`DistributedDataParallel` averages when every parameter has had its gradient.
The last pass did not reach some of them: an output that went into no loss, a
module that did not run, a branch that this rank or this iteration took
differently. The next forward then refuses: "Expected to have finished
reduction in the prior iteration".

## Why PyTorch refuses

The other ranks may wait in the reduction for what this rank never sends. The
optimizer has already applied gradients that were not averaged. A rank that
has sent everything hangs in its pass until this one is gone, and then fails
with "Connection closed by peer", which is not its fault.

## How to tell

The finding names the parameters, the output that no loss used if there is
one, and the ranks: if all wait for the same parameters, the program leaves
them out everywhere; if not, the ranks took different branches.

## Remedies

- **keep-history**: let the loss use the output, times zero where it does not
  count in this iteration: `loss + 0 * unused.sum()`.
- **other**: leave the module out, or freeze it (`requires_grad_(False)`
  before wrapping), where nothing trains it; `find_unused_parameters=True`
  only where the parameters in use really change between iterations or ranks:
  it searches the graph in every forward.

## Example

```python
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
heads = torch.nn.ModuleDict({k: torch.nn.Linear(3, 1) for k in "ab"})
heads.forward = lambda x: (heads["a"](x), heads["b"](x))
model = DistributedDataParallel(heads)
for step in range(2):
    a, b = model(torch.randn(8, 3))  # RuntimeError: in the second turn
    a.pow(2).mean().backward()
```

With both outputs in the loss:

```python
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
heads = torch.nn.ModuleDict({k: torch.nn.Linear(3, 1) for k in "ab"})
heads.forward = lambda x: (heads["a"](x), heads["b"](x))
model = DistributedDataParallel(heads)
for step in range(2):
    a, b = model(torch.randn(8, 3))
    (a.pow(2).mean() + 0 * b.sum()).backward()
dist.destroy_process_group()
```

## What people do instead, and why not

`find_unused_parameters=True` everywhere: the error is gone, every forward
searches the graph, and a head that was left out of the loss by mistake is
never trained.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from ..record import Carrier, Failure, Finding, Forward, Parallel, Pass, Remedy, Trace
from ._finding import carrier_of, pass_evidence, place_of, quoted, remedy
from .facts.lines import call_text, root_text, sources_of
from .facts.reduction import covering, modules_of, open_pass
from .ready_twice import listed

CODE = "SP504"
TITLE = "DistributedDataParallel waits for gradients that the last pass did not give"
MESSAGES = ("Expected to have finished reduction in the prior iteration",)
REMEDIES = ("keep-history", "other")

_SHOWN = 4


def diagnose(trace: Trace) -> list[Finding]:
    """Forwards that were refused because a reduction was still open."""
    refused = [f for f in trace.failures if f.kind == "unfinished-reduction" and f.parallel is not None]
    return [_explain(trace, f, f.parallel) for f in refused if f.parallel is not None]


_SAME_BRANCH = remedy(
    "other",
    "take the same branch on every rank, or compute both and let the loss use the other one times zero",
    "Then every parameter has a gradient in every pass, on every rank.",
)
_SEARCH = remedy(
    "other",
    "give DistributedDataParallel find_unused_parameters=True",
    "Right where the parameters in use change between iterations or ranks on purpose.",
    target="find_unused_parameters",
)


def merge(findings: dict[int, Finding], waiting: Sequence[str] = ()) -> Finding:
    """Ranks that wait for different parameters have taken different branches; and so has one that has not got through the pass
    that these have left open: it waits for their part in what it has used."""
    first = findings[min(findings)]
    left = {rank: tuple(f.facts.get("waiting") or ()) for rank, f in sorted(findings.items())}
    if first.used is not None and f"{first.used.file}:{first.used.line}" in waiting:
        text = "the ranks took different branches: others are still in that pass, with what these have not used"
    elif len(set(left.values())) > 1:
        each = "; ".join(f"rank {rank} for {listed(list(names))}" for rank, names in list(left.items())[:_SHOWN])
        text = f"the ranks took different branches: each waits for other parameters, {each}"
    else:
        return first
    evidence = (*first.evidence, {"what": "waiting", "text": text, "waiting": left})
    return replace(first, evidence=evidence, remedies=(_SAME_BRANCH, _SEARCH))


def _explain(trace: Trace, failure: Failure, index: int) -> Finding:
    module = trace.parallels[index]
    model = quoted(module.name, "the model")
    last = open_pass(trace, index, failure.when)
    forward = covering(trace, index, last) if last is not None else None
    waiting = _waiting(module, failure, last, index)
    unused = _unused(trace, forward, last)
    before = _had_before(trace, index, waiting, last)
    names = dict(zip(module.leaves, module.names, strict=False))
    parts = modules_of([names[k] for k in waiting], [n for k, n in names.items() if k not in waiting])
    which = listed(parts) if parts else "some parameters"
    made = f"`{call_text(trace, last)}`" if last is not None else "the last pass"
    if unused:
        outputs = ", ".join(quoted(name, "") for name in unused)
        several = "outputs" if len(unused) > 1 else "output"
        message = f"{outputs}, {several} of {model}, went into no loss: {made} gave {which} no gradient, and DDP waits for it."
    else:
        message = (
            f"{made} gave {which} of {model} no gradient, and DDP still waits for it: it takes no part in the loss."
        )
    if before:
        message += " It had one in an earlier iteration."
    return Finding(
        CODE,
        "unfinished-reduction",
        "error",
        message,
        failed=failure.place,
        carrier=next((Carrier(b.name, b.kind) for b in trace.bindings if b.name in unused), carrier_of(module)),
        built=forward.place if forward is not None else None,
        used=last.place if last is not None else None,
        evidence=tuple(pass_evidence(trace, failure.when, {last.when: "left open"} if last is not None else {})),
        remedies=tuple(
            _remedies(model, which, unused, before, before or _in_a_branch(trace, parts), root_text(trace, last))
        ),
        sure=bool(waiting),
        facts={
            "waiting": [names[k] for k in waiting],
            "unused": unused,
            "root": root_text(trace, last),
            "used_stack": [place_of(p) for p in last.stack] if last is not None else [],
        },
    )


def _waiting(module: Parallel, failure: Failure, last: Pass | None, index: int) -> tuple[int, ...]:
    if failure.waiting is not None:
        return failure.waiting
    handed = set(last.reduced[index]) if last is not None else set(module.leaves)
    return tuple(k for k in module.leaves if k not in handed)


def _unused(trace: Trace, forward: Forward | None, last: Pass | None) -> list[str]:
    """What the forward returned and the pass did not come through, by the user's names where there are any."""
    if forward is None or last is None or not forward.outputs or last.walked is None:
        return []
    names: dict[int, str] = {}
    for b in trace.bindings:
        if b.when == last.when and (b.number not in names or len(b.name) < len(names[b.number])):
            names[b.number] = b.name
    left = {way: n for way, n in forward.outputs.items() if n not in last.walked}
    return [names.get(n) or f"output{way}" for way, n in left.items()]


def _had_before(trace: Trace, index: int, waiting: tuple[int, ...], last: Pass | None) -> bool:
    """Whether an earlier pass gave them a gradient: then it depends on the iteration."""
    earlier = [p for p in trace.passes if last is not None and p.when < last.when]
    return bool(waiting) and any(set(waiting) & set(p.reduced.get(index, ())) for p in earlier)


def _in_a_branch(trace: Trace, parts: list[str]) -> bool:
    """Whether the program reads one of some modules in a branch, or goes through a list of them and passes over some: then
    another iteration may use what this one did not."""
    attributes = {name for part in parts for name in part.split(".") if not name.isdigit()}
    for _, source in sources_of(trace):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.If | ast.IfExp | ast.Match) and _reads(node, attributes):
                return True
            if isinstance(node, ast.For) and _reads(node.iter, attributes):
                if any(isinstance(n, ast.If | ast.IfExp) for part in node.body for n in ast.walk(part)):
                    return True
    return False


def _reads(node: ast.AST, attributes: set[str]) -> bool:
    return any(
        isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load) and n.attr in attributes for n in ast.walk(node)
    )


def _remedies(model: str, which: str, unused: list[str], seen: bool, varies: bool, root: str) -> list[Remedy]:
    """:param seen: whether it was seen that what takes part varies; what may vary may be left out by mistake"""
    found = []
    if unused:
        by_hand = " (times zero where it does not count)"
        if root.isidentifier() and unused[0].isidentifier():
            by_hand = f", times zero where it does not count: `{root} = {root} + 0 * {unused[0]}.sum()`"
        found.append(
            remedy(
                "keep-history",
                f"let the loss use {quoted(unused[0], 'that output')}{by_hand}",
                "Then every parameter has a gradient in every pass, on every rank.",
                target=unused[0],
            )
        )
    if varies:
        target = _SEARCH.target if seen else ""
        found.append(replace(_SEARCH, title=_SEARCH.title.replace("DistributedDataParallel", model), target=target))
    else:
        found.append(
            remedy(
                "other",
                f"leave {which} out of {model}, or freeze it before wrapping",
                "What no loss uses is not trained; find_unused_parameters=True is right only if it is used at other times.",
            )
        )
    return found
