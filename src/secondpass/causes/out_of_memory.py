# SPDX-License-Identifier: BSD-3-Clause
"""Memory ran out while graphs were alive: what they hold, who holds them, and which of it no later pass can need.

## What happened

An allocation failed. The line where it failed is where the last drop fell in;
what fills the memory was put there before. Part of it are saved tensors: what
the operations of a forward keep for the pass to come. Those of the present
iteration are needed. Those of earlier iterations that somebody still holds
are not: their parameters have moved since.

## Why PyTorch does not refuse

Keeping a tensor is no mistake, and PyTorch cannot know which pass will come.
The allocator knows addresses and sizes. It knows no graph and no names.

## How to tell

The note on the exception says how much of the memory is saved tensors, how
much of that was built before the last step, and which name holds it.
`secondpass.ledger()` lists it; `secondpass see` shows how it grew.

## Remedies

- **item**, **detach**: a list of losses or outputs that keeps their history
  needs numbers, or tensors without history. See `graph-leak`.
- **drop-retain**: a graph that a pass was told to keep, and that no later
  pass walks. See `needless-retain`.
- **other**: put an evaluation under `torch.no_grad()`: nothing is saved then.
- **keep**: where all of it is needed, `secondpass.keep(model, budget=...)`
  holds what fits and computes the rest again; a smaller batch needs less.

## Example

```python
import torch

model = torch.nn.Linear(3, 1)
outputs = []
for step in range(8):
    x = torch.randn(8, 3)
    out = model(x).exp()
    out.mean().backward()
    outputs.append(model(x).exp())  # no error yet: each keeps its tensors
```

The values alone:

```python
import torch

model = torch.nn.Linear(3, 1)
outputs = []
for step in range(8):
    x = torch.randn(8, 3)
    out = model(x).exp()
    out.mean().backward()
    outputs.append(model(x).exp().detach())
```

## What people do instead, and why not

`torch.cuda.empty_cache()` gives back what nobody holds; this is held. A
smaller batch puts off the end where memory grows with every step. Catching
the error and going on keeps everything that was held.
"""

from __future__ import annotations

import ast

from ..record import Carrier, Failure, Finding, Kept, Place, Remedy, Trace
from ._finding import pass_evidence, quoted, remedy, size
from .facts.collected import filled_at
from .facts.lines import source_of

CODE = "SP506"
TITLE = "memory ran out while graphs were alive"
MESSAGES = ("out of memory", "can't allocate memory", "not enough memory")
REMEDIES = ("item", "detach", "drop-retain", "other", "keep")
TRIED = ("item", "detach", "drop-retain")

_SHARE = 20
"""What is less than this part of the saved tensors is not worth a word."""
_NAMED = 3


def diagnose(trace: Trace) -> list[Finding]:
    """What was alive when an allocation failed."""
    failure = next((f for f in trace.failures if f.kind == "out-of-memory"), None)
    if failure is None or not trace.kept:
        return []
    total = sum(k.bytes for k in trace.kept)
    useless = [k for k in trace.kept if k.outdated and k.bytes * _SHARE >= total]
    if useless:
        return [_finding(trace, failure, total, useless)]
    if failure.bytes is not None and total >= failure.bytes:
        return [_needed(trace, failure, total)]
    return []  # the memory went elsewhere


def _finding(trace: Trace, failure: Failure, total: int, useless: list[Kept]) -> Finding:
    useless = sorted(useless, key=lambda k: -k.bytes)
    wasted, most = sum(k.bytes for k in useless), useless[0]
    held = ", ".join(f"{quoted(k.holder, 'something')} holds {size(k.bytes)}" for k in useless[:_NAMED])
    message = (
        f"Memory ran out with {size(total)} in saved tensors, of which {size(wasted)} were built before the last step and "
        f"can be needed by no later pass: {held}."
    )
    return _made(trace, failure, message, _repairs(most, trace), most, sure=bool(most.holder))


def _needed(trace: Trace, failure: Failure, total: int) -> Finding:
    most = max(trace.kept, key=lambda k: k.bytes)
    message = (
        f"Memory ran out with {size(total)} in saved tensors, all of them of the present iteration: the pass to come needs "
        "them."
    )
    remedies = []
    if failure.evaluating:
        message = f"Memory ran out with {size(total)} in saved tensors of an evaluation, which no pass needs."
        remedies.append(_no_grad(most))
    room = total - 2 * (failure.bytes or 0)
    if room > 0 and not failure.evaluating:
        budget = f'"{room >> 20} MiB"' if room >> 20 else f"{room}"
        model = failure.names[0] if len(failure.names) == 1 else "model"
        remedies.append(
            remedy(
                "keep",
                f"`secondpass.keep({model}, budget={budget})`, or a smaller batch",
                f"What is held then leaves twice the {size(failure.bytes or 0)} that were asked for; the rest is computed again "
                "when the pass comes to it.",
            )
        )
    return _made(trace, failure, message, remedies, most, sure=True)


def _made(trace: Trace, failure: Failure, message: str, remedies: list[Remedy], most: Kept, *, sure: bool) -> Finding:
    evidence = pass_evidence(trace, failure.when)
    for k in sorted(trace.kept, key=lambda k: -k.bytes)[: _NAMED + 1]:
        built = f", built in iteration{_span(k.iterations)}" if k.iterations else ""
        where = f", most of it at {k.place.where}" if k.place is not None else ""
        text = f"{quoted(k.holder, 'no name in sight')}: {size(k.bytes)} in {k.count} tensor{'s' * (k.count > 1)}{built}{where}"
        evidence.append({"what": "bytes", "text": text, "bytes": k.bytes, "outdated": k.outdated})
    if (under_way := _comprehension(trace, failure)) is not None:
        text = f"the comprehension at {under_way.where} was under way: what it had built was gone when this was counted"
        evidence.append({"what": "gone", "text": text})
        remedies = [*remedies, *([] if any(r.kind == "other" for r in remedies) else [_no_grad(most)])]
    return Finding(
        CODE,
        "out-of-memory",
        "error",
        message,
        failed=failure.place,
        carrier=Carrier(most.holder, "slot" if most.collected else "local") if most.holder else None,
        built=most.place,
        evidence=tuple(evidence),
        remedies=tuple(remedies),
        sure=sure,
    )


def _comprehension(trace: Trace, failure: Failure) -> Place | None:
    """Where a comprehension was under way. Only the interpreter held its values, and it let go of them as it failed."""
    for place in failure.stack:
        source = source_of(trace, place)
        statement = source.statement(place.line) if source is not None else None
        kinds = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return):
            if any(isinstance(node, kinds) and _covers(node, place.line) for node in ast.walk(statement)):
                return place
    return None


def _covers(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _span(iterations: tuple[int, ...]) -> str:
    first, last = iterations[0], iterations[-1]
    return f" {first}" if first == last else f"s {first} to {last}"


def _repairs(most: Kept, trace: Trace) -> list[Remedy]:
    filled, written = filled_at(trace, most.holder, trace.failures[0].stack) if most.collected else (None, "")
    target, place = written or most.holder, filled or most.place
    it = quoted(target, "it")
    if most.retained:
        drop = remedy(
            "drop-retain",
            "leave out retain_graph=True",
            "A pass was told to keep this graph, and no later one has walked it.",
            place=next((p.place for p in reversed(trace.passes) if p.retain), None),
        )
        return [drop]
    values = remedy(
        "detach",
        f"detach what goes into {it}" if most.collected else f"detach {it} where it is kept",
        "The values stay, without the saved tensors behind them.",
        target=target,
        place=place,
    )
    number = remedy(
        "item",
        f"add the value to {it}, not the tensor: `.item()`, or `.detach()` to stay a tensor",
        "What is kept for logging is a number; with its history every iteration's graph stays alive.",
        target=target,
        place=place,
    )
    return [number, values] if most.single else [values, _no_grad(most)]


def _no_grad(most: Kept) -> Remedy:
    return remedy(
        "other",
        "compute it under `torch.no_grad()` if no pass is meant to come",
        "Nothing is saved then.",
        target=most.holder,
    )
