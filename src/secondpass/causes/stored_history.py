# SPDX-License-Identifier: BSD-3-Clause
"""Tensors with history are stored (rollout, replay, cache, queue) and used again.

## What happened

A container was filled with tensors as a network made them, history included:
a rollout, a replay memory, a cache of features, a queue of negatives, a
`TensorDataset`. Later they were used as data, more than once. The first pass
through a stored tensor walked back into the network that had made it and
freed that graph; the next one met it spent.

## Why PyTorch refuses

What goes into a list is the tensor with all of its history. For the engine it
is not data but the middle of a graph, and gradients flow on through it, to the
place where it was made. That works once.

## How to tell

The part that is gone was built while the container was filled, often in
another function. The carrier is a slot: `buffer[...]`, `memory["value"]`. The
first epoch over it is fine and the second fails, or the first two batches that
share an element.

## Remedies

- **detach**: store values. `buffer.append(value.detach())`, or fill the
  container under `torch.no_grad()`, which does not even build the graph.
- **recompute**: where gradients should flow through it, store the inputs and
  run the network on them again each time.

## Example

```python
import secondpass.autograd as torch

encoder, critic = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
rollout = []
for t in range(4):
    rollout.append(torch.tanh(encoder(torch.randn(1, 4))))

for epoch in range(2):
    for state in rollout:
        loss = (critic(state) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()  # epoch 1: RuntimeError, backward ... a second time
        optimizer.step()
```

What is stored is data:

```python
import secondpass.autograd as torch

encoder, critic = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
rollout = []
for t in range(4):
    rollout.append(torch.tanh(encoder(torch.randn(1, 4))).detach())

for epoch in range(2):
    for state in rollout:
        loss = (critic(state) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
```

## What people do instead, and why not

`retain_graph=True`: every stored element keeps its whole graph alive, so the
container grows to many times its size, and each pass goes on into a network
as it was when the element was made. Its parameters have moved since: an
in-place error comes next (`step-between`), or wrong gradients without one.
`clone()` or `copy.deepcopy` in place of `detach()`: the first keeps the
history, the second refuses tensors that have one.
"""

from __future__ import annotations

import ast
import re

from ..record import Carrier, Finding, Place, Sighting
from ._finding import about_reuse, quoted, remedy
from ._once import kept_by_decorator, kept_once
from ._reuse import Reuse
from ._source import assigned, source_of

CODE = "SP107"
TITLE = "tensors with history are stored and used again"
REMEDIES = ("detach", "recompute")
RANK = 50

_STORING = {
    "append",
    "appendleft",
    "add",
    "extend",
    "put",
    "push",
    "store",
    "insert",
    "update",
    "setdefault",
    "remember",
}
_HOLDING = {"TensorDataset", "DataLoader", "deque", "ReplayBuffer"}


def fits(reuse: Reuse) -> bool:
    """The entry lies in a container across iterations, and nothing is built on from it."""
    if reuse.recurs or not reuse.new or _builds_on_itself(reuse):
        return False
    if reuse.crossed is not None and kept_by_decorator(reuse) is not None:
        return not kept_once(reuse)
    if reuse.crossed is None and reuse.outside is None and not reuse.recalled:
        return False
    if reuse.crossed is None and reuse.updated is False and not reuse.steps_between:
        return False  # several losses of one step
    slots = [s for s in reuse.bound_now if "[" in s.name]
    if reuse.crossed is not None:
        return (bool(slots) and bool(reuse.bound_all_along)) or (not reuse.rebound and _stored_by_source(reuse))
    return _stored_by_source(reuse) or any(_is_store(s) for s in slots)


def _is_store(seen: Sighting) -> bool:
    """A numbered slot of a container, or a data set's tensor; a key of a dict may be just what a forward returned."""
    return ".tensors[" in seen.name or (seen.kind == "slot" and re.search(r"\[-?\d+\]", seen.name) is not None)


def _builds_on_itself(reuse: Reuse) -> bool:
    """Whether the entry was made from what stood in its own slot before: `shadow[k] = 0.9 * shadow[k] + ...`."""
    source = source_of(reuse.trace, reuse.entry.place)
    if source is None or reuse.entry.place is None:
        return False
    stmt = source.statement(reuse.entry.place.line)
    if isinstance(stmt, ast.AugAssign):
        return True
    if not isinstance(stmt, ast.Assign):
        return False
    reads = {ast.unparse(n) for n in ast.walk(stmt.value) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))}
    return any(ast.unparse(t) in reads for t in assigned(stmt) if not isinstance(t, ast.Name))


def _places(reuse: Reuse) -> list[Place]:
    """The statements that built the entry, or what it was put together from (`torch.stack(buffer)`)."""
    entry = reuse.entry
    made = [entry]
    if entry.op.startswith(("Stack", "Cat")):
        parts = [reuse.trace.nodes[p] for p in (entry.parents or ())[:4] if p in reuse.trace.nodes]
        numbers = {n.number for n in parts}
        # Where each is computed from the one before, the list was a way to compute, not a store.
        if not any(n.number in numbers for part in parts for n in reuse.trace.history(*(part.parents or ()))):
            made += parts
    return list(dict.fromkeys(p for n in made for p in n.stack))


def _stored_by_source(reuse: Reuse) -> bool:
    """Whether the statements that built the entry, or took its name, put it into something."""
    names = {s.name for s in (*reuse.bound_now, *reuse.bound_then)} | set(reuse.built_by(reuse.entry))
    # A statement that the pass is part of takes what its function returns, not what was stored.
    around = {(p.file, p.line) for p in reuse.used.stack}
    for place in (p for p in _places(reuse) if (p.file, p.line) not in around):
        source = source_of(reuse.trace, place)
        stmt = source.statement(place.line) if source is not None else None
        if stmt is None or source is None:
            continue
        if isinstance(stmt, ast.Assign) and any(isinstance(t, ast.Subscript) for t in stmt.targets):
            return True
        for call in source.calls(place.line):
            if isinstance(call.func, ast.Attribute) and call.func.attr in _STORING:
                return True
        for node in ast.walk(source.function(place.line)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _STORING | _HOLDING:
                given = {ast.unparse(a) for a in (*node.args, *(k.value for k in node.keywords))}
                if given & names:
                    return True
    return False


def _made_if_missing(reuse: Reuse) -> bool:
    """Whether the store is there to save computing: `if key not in cache: cache[key] = ...`."""
    for place in reuse.entry.stack:
        source = source_of(reuse.trace, place)
        stmt = source.statement(place.line) if source is not None else None
        stores = (
            [ast.unparse(t.value) for t in assigned(stmt) if isinstance(t, ast.Subscript)] if stmt is not None else []
        )
        for outer in source.path(place.line) if source is not None and stores else ():
            test = outer.test if isinstance(outer, ast.If) else None
            if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotIn):
                if ast.unparse(test.comparators[0]) in stores:
                    return True
    return False


def explain(reuse: Reuse) -> Finding:
    """What is stored is data."""
    memo = kept_by_decorator(reuse) if reuse.crossed is not None else None
    carrier = Carrier(f"{memo.name}(...)", "slot") if memo is not None else reuse.carrier()
    name = carrier.name if carrier else ""
    shown = quoted(name, "a stored tensor")
    message = (
        f"{shown} was stored together with its history; the first backward through it freed that "
        "history, and a later one needs it again."
    )
    if reuse.changed:
        message = (
            f"{shown} was stored together with its history, and the weights that this history needs have changed since."
        )
    remedies = [
        remedy(
            "detach",
            f"store {shown} without its history",
            "What is kept for later use is data: its values count, and gradients should not flow back to "
            "where it was made.",
            target=name,
            place=reuse.entry.place,
        ),
        remedy(
            "recompute",
            f"compute {shown} again each time it is used",
            "Right if gradients are meant to flow through it: then it needs a graph of its own every time.",
            target=name,
            place=reuse.entry.place,
        ),
    ]
    if memo is not None or _made_if_missing(
        reuse
    ):  # what computes it is being trained: to keep the values would be to keep them from before
        remedies.reverse()
    return about_reuse(CODE, "stored-history", reuse, message, carrier, remedies)
