# SPDX-License-Identifier: BSD-3-Clause
"""Tensors with history are collected and memory grows.

## What happened

A list, a meter, an attribute or a running sum takes in a tensor per iteration
and keeps it, history and all. Its graph cannot die while somebody holds its
end. With every step more of it stays, and after some hours the program is out
of memory in a line that has nothing to do with it.

## Why PyTorch does not refuse

Keeping a tensor is no mistake. What it costs depends on what has been walked:

- a loss that has been through its pass holds only the skeleton of its graph:
  nodes without buffers. That grows slowly, in ordinary memory;
- a tensor whose branch no pass has walked (an auxiliary output, predictions
  in validation) holds all its activations. That grows fast, on the device;
- under `retain_graph=True` everything counts as not walked.

## How to tell

Memory grows by the same amount in every iteration, and going on from a saved
model starts low again. The list holds tensors whose `grad_fn` is not None.
The finding names the holder, how much it holds, and which of the three it is.

## Remedies

- **item**: keep numbers. `losses.append(loss.item())`; on a GPU `.item()`
  waits for the device, so where that matters:
- **detach**: keep the tensor without its history (`loss.detach()`) and turn
  it into numbers once per epoch.

- **other**: where a hook is registered in every iteration, each keeps what it
  has caught: remove it (`handle.remove()`), or register it once.

Put validation under `torch.no_grad()`: then there is nothing to hold.

## Example

```python
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
log = []
for step in range(8):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.append(loss)  # no error: eight graphs stay
```

A log needs numbers:

```python
import secondpass.autograd as torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
log = []
for step in range(8):
    x = torch.randn(8, 3)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.append(loss.item())
```

## What people do instead, and why not

`torch.cuda.empty_cache()` and `gc.collect()` free what nobody holds; this is
held. `del loss` deletes a name, not the tensor in the list. A smaller batch
puts off the end by an hour.
"""

from __future__ import annotations

import ast
from itertools import pairwise

from ..record import Carrier, Finding, Holding, Place, Remedy, Trace
from ._finding import quoted, remedy
from ._silent import size, warning
from ._source import Source, assigned, sources_of

CODE = "SP401"
TITLE = "tensors with history are collected and memory grows"
REMEDIES = ("item", "detach", "other")

_GROWTHS = 5
_ADDING = {"append", "appendleft", "add", "extend", "insert", "update", "setdefault", "put"}


def diagnose(trace: Trace) -> list[Finding]:
    """Holders that had more history at pass after pass."""
    if any(f.kind != "other" and not f.swallowed for f in trace.failures):
        return []
    names: dict[tuple[str, bool], list[Holding]] = {}
    for holding in (h for h in trace.holdings if not h.kind.startswith("unwalked")):
        names.setdefault((holding.name, holding.kind == "hooks"), []).append(holding)
    found = [(name, seen) for (name, _), seen in names.items() if _grows(trace, seen)]
    # One holder can be reached by several names, and a container in it by more: the shortest speaks for all.
    chosen: list[Finding] = []
    places: set[Place | None] = set()
    for name, seen in sorted(found, key=lambda f: (f[0].count("[") + f[0].count("."), len(f[0]))):
        finding = _explain(trace, name, seen)
        inside = any(
            c.carrier is not None and name.startswith((c.carrier.name + "[", c.carrier.name + ".")) for c in chosen
        )
        if finding.failed not in places and not inside:
            places.add(finding.failed)
            chosen.append(finding)
    never = [h for h in trace.holdings if h.kind.startswith("unwalked") and h.place not in places]
    return chosen + [_never_walked(h) for h in never]


def _never_walked(held: Holding) -> Finding:
    """Whole graphs on which no pass ever runs."""
    what = f"the history of {held.count} values" if held.kind.endswith("sum") else f"{held.count} tensors with history"
    message = (
        f"`{held.name}` collects {what} that no backward ever walks: the whole graph of each stays in memory until the end "
        "of the evaluation."
    )
    off = remedy(
        "other",
        "evaluate under `torch.no_grad()`",
        "Nothing is recorded then, so there is nothing to keep.",
        target=held.name,
        place=held.place,
    )
    evidence = [
        {"what": "bytes", "text": f"each keeps about {held.nodes} nodes with their buffers", "nodes": held.nodes}
    ]
    remedies = [off, *_remedies(held, held.name, held.place)[-1:]]
    carrier = Carrier(held.name, "local")
    return warning(CODE, "graph-leak", message, held.place, remedies, carrier=carrier, evidence=evidence)


def _grows(trace: Trace, seen: list[Holding]) -> bool:
    """Whether it grew from pass to pass, often enough and without being emptied in between."""
    best = run = 0
    for before, after in pairwise(seen):
        run = run + 1 if after.count > before.count else 0 if after.count < before.count else run
        best = max(best, run)
    return best >= _GROWTHS


def _explain(trace: Trace, name: str, seen: list[Holding]) -> Finding:
    last = max(seen, key=lambda h: h.count)
    running = last.kind == "running"
    place, written = _filled_at(trace, name, running)
    shown = written or name
    many = f"{last.count} {'iterations deep' if running else 'tensors with history'} when last seen"
    message = f"`{shown}` keeps the history of every iteration ({many}): memory grows with every step."
    if last.kind == "hooks":
        message = (
            f"A hook is registered in every iteration and none is removed: {last.count} of them when last seen, each with "
            f"a `{shown}` of its own that keeps history. Memory grows with every step."
        )
    remedies = _remedies(last, shown, place)
    evidence = [
        {"what": "note", "text": f"`{name}`: {h.count} with history at pass {h.when}", "count": h.count}
        for h in _few(seen)
    ]
    measured = next((h for h in reversed(seen) if h.nodes is not None), None)
    if measured is not None:
        evidence.append(_cost(measured))
    return warning(
        CODE,
        "graph-leak",
        message,
        place,
        remedies,
        carrier=Carrier(shown, last.kind),
        evidence=evidence,
        chain=list(last.chain),
    )


def _remedies(last: Holding, shown: str, place: Place | None) -> list[Remedy]:
    it = quoted(shown, "it")
    number = remedy(
        "item",
        f"add the value to {it}, not the tensor: `.item()`, or `.detach()` to stay a tensor",
        "What is kept for logging is a number; with its history every iteration's graph stays alive.",
        target=shown,
        place=place,
    )
    values = remedy(
        "detach",
        f"detach what goes into {it}",
        "The values stay tensors, without the graph behind them.",
        target=shown,
        place=place,
    )
    if last.kind == "hooks":
        once = remedy(
            "other",
            "remove each hook when it has done its work (`handle.remove()`), or register one hook once",
            "Every registration adds a hook that stays with the module, and whatever it has caught with it.",
            target=shown,
        )
        return [once, values]
    # A tensor of many elements has no `.item()`.
    return [values] if last.single is False else [number, values]


def _cost(held: Holding) -> dict[str, object]:
    """What each further tensor keeps: the skeleton of nodes, or the buffers too where no pass has freed them."""
    buffers = f"and {size(held.bytes)} of buffers" if held.bytes else "but no buffers: a pass has freed them"
    return {
        "what": "bytes",
        "text": f"each keeps {held.nodes} nodes alive, {buffers}",
        "nodes": held.nodes,
        "bytes": held.bytes,
    }


def _few(seen: list[Holding]) -> list[Holding]:
    return [seen[0], seen[len(seen) // 2], seen[-1]]


def _filled_at(trace: Trace, name: str, running: bool) -> tuple[Place | None, str]:
    """The line that adds to a holder, and how that line writes it. `stats.outputs` may be `self.outputs` there."""
    attribute = name.rpartition(".")[2] if "." in name else None
    best: tuple[int, Place, str] | None = None
    for file, tree in sources_of(trace):
        for node in ast.walk(tree.tree):
            target = _adds_to(node, running)
            if target is None or not isinstance(node, (ast.stmt, ast.expr)):
                continue
            own = bool(attribute) and target == f"self.{attribute}"
            rank = 0 if target == name else 1 if own else 2 if _same_end(target, name) else 9
            if rank == 9 and "[" in name and target.startswith("self.") and _is_container(tree, node.lineno):
                rank = 3  # a class of the user's that is itself the dictionary
            if rank < 9 and (best is None or rank < best[0]):
                function = tree.function(node.lineno)
                best = (rank, Place(file, node.lineno, getattr(function, "name", "<module>")), target)
    return (best[1], best[2] if best[0] < 2 else name) if best is not None else (None, "")


def _is_container(tree: Source, line: int) -> bool:
    """Whether a line stands in a class that is a dictionary or a list."""
    classes = [s for s in tree.path(line) if isinstance(s, ast.ClassDef)]
    return any(ast.unparse(b).rpartition(".")[2].lower().endswith(("dict", "list")) for c in classes for b in c.bases)


def _same_end(target: str, name: str) -> bool:
    end = target.partition("[")[0].rpartition(".")[2]
    return bool(end) and end == name.partition("[")[0].rpartition(".")[2]


def _adds_to(node: ast.AST, running: bool) -> str | None:
    if running:
        if isinstance(node, ast.AugAssign):
            return ast.unparse(node.target)
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.BinOp, ast.Call)):
            own = [ast.unparse(t) for t in assigned(node)]
            return own[0] if len(own) == 1 and own[0] in ast.unparse(node.value) else None
        return None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDING:
        return ast.unparse(node.func.value)
    if isinstance(node, ast.AugAssign) and isinstance(node.value, (ast.List, ast.Tuple, ast.ListComp)):
        return ast.unparse(node.target)
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
        return ast.unparse(node.targets[0].value)
    return None
