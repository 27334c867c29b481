# SPDX-License-Identifier: BSD-3-Clause
"""A tensor of a compiled region is needed after its memory was used again.

## What happened

A compiled region that runs as a CUDA graph (`mode="reduce-overhead"`) writes
its results into the same memory in every run. An output was kept, and read
after the region had run again: as the state of a recurrence, in a list of
losses or predictions, or as a gradient that is being accumulated.

Or a pass was to keep the graph (`retain_graph=True`) of a region that was
compiled to reuse, in its backward, the memory of its saved tensors ("donated
buffers").

## Why PyTorch does not refuse

It does not refuse to keep the tensor: it cannot know that somebody will read
it later. It refuses the reading: "accessing tensor output of CUDAGraphs that
has been overwritten by a subsequent run". On a CPU, and before the graph is
recorded, the same program works: so it fails in the third iteration or so.

Donated buffers are refused at the first pass that is to keep the graph, where
earlier ones did not: "compiled with non-empty donated buffers".

## How to tell

Without `mode="reduce-overhead"` the program runs. The line that fails reads a
tensor that an earlier call of the region has made. With donated buffers the
program runs without `torch.compile`.

## Remedies

- **clone**: a copy of what is kept, taken outside of the region:
  `out = model(x).clone()`. A loss that is only logged is better kept as a
  number.
- **other**: `torch.compiler.cudagraph_mark_step_begin()` at the beginning of
  each iteration, where one iteration runs the region several times and needs
  all of the outputs. For gradients: memory of their own before the first
  compiled pass (a pass without the compiler, then
  `zero_grad(set_to_none=False)`). For donated buffers:
  `torch._functorch.config.donated_buffer = False` before the region is
  compiled, where each gradient is wanted by itself (a weight made of norms).
- **combine-losses**: two losses go through as a sum, where nothing is done to
  the gradients in between: then no graph is kept.
- **drop-retain**: where no later pass comes, nothing has to be kept.

## Example

```python
import torch

model = torch.compile(torch.nn.Linear(3, 3), backend="cudagraphs")
kept = []
with torch.no_grad():
    for step in range(4):
        kept.append(model(torch.randn(8, 3)))
print(torch.stack(kept).mean())  # fails where the model is on a GPU
```

With a copy:

```python
import torch

model = torch.compile(torch.nn.Linear(3, 3), backend="cudagraphs")
kept = []
with torch.no_grad():
    for step in range(4):
        kept.append(model(torch.randn(8, 3)).clone())
print(torch.stack(kept).mean())
```

## What people do instead, and why not

They leave `torch.compile` or `mode="reduce-overhead"` out, and with it what it
saves on every run. `.detach()` gives another tensor on the same memory: it is
overwritten just so. A `.clone()` inside of the region is one more output in
its memory.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from ..record import Carrier, Failure, Finding, Node, Pass, Remedy, Trace
from ..source import effects, heads
from ._finding import about_region, pass_evidence, place_of, quoted, remedy
from .facts.lines import root_text, source_of

CODE = "SP505"
TITLE = "a tensor of a compiled region is needed after its memory was used again"
REMEDIES = ("clone", "other", "combine-losses", "drop-retain")
TRIED = ()
MESSAGES = (
    "output of CUDAGraphs that has been overwritten by a subsequent run",
    "compiled with non-empty donated buffers",
)


def diagnose(trace: Trace) -> list[Finding]:
    """Readings that were refused, and passes that were to keep what the region gives away."""
    read = [_explain(trace, f) for f in trace.failures if f.kind == "overwritten-output"]
    return read + [_donated(trace, f) for f in trace.failures if f.kind == "donated"]


def _donated(trace: Trace, failure: Failure) -> Finding:
    used = trace.at(failure.when)
    region = max(
        (n for n in trace.nodes.values() if n.op.startswith("CompiledFunction")), key=lambda n: n.number, default=None
    )
    carrier = _output(trace, failure, region)
    what = f"the compiled region behind {quoted(carrier.name if carrier else None, 'the loss')}"
    asked = "create_graph=True" if used is not None and used.create else "retain_graph=True"
    message = (
        f"`{asked}` asks to keep the graph of {what}, but its backward was compiled to reuse the memory of its saved tensors "
        "(donated buffers): a second pass would find them overwritten."
    )
    remedies = _of_donated(trace, failure, used, region)
    return replace(about_region(CODE, "overwritten-output", trace, failure, message, remedies), carrier=carrier)


def _of_donated(trace: Trace, failure: Failure, used: Pass | None, region: Node | None) -> list[Remedy]:
    if used is not None and used.create:
        return [
            remedy(
                "other",
                "leave the part that is differentiated twice out of torch.compile",
                "A compiled backward cannot be differentiated again, with donated buffers or without.",
                place=region.place if region is not None else failure.place,
            )
        ]
    kept = remedy(
        "other",
        "set torch._functorch.config.donated_buffer = False before the region is compiled",
        "Its backward then leaves the saved tensors as they are until the last pass; that costs memory.",
        target="donated_buffer",
    )
    if used is None or used.kind == "grad":
        return [kept]
    together = _next_pass(trace, used, region)
    if together is None:
        drop = remedy(
            "drop-retain",
            "leave retain_graph=True out, if no later pass comes to this graph",
            "One pass needs nothing kept.",
            place=failure.place,
        )
        return [kept, drop]
    if not together:
        return [kept]
    combined = remedy(
        "combine-losses",
        "send the losses through together, without retain_graph",
        "One pass over the sum needs no graph kept, and the region stays as it was compiled.",
        target=root_text(trace, used),
        place=failure.place,
    )
    return [combined, kept]


def _next_pass(trace: Trace, used: Pass, region: Node | None) -> bool | None:
    """Whether nothing is done with gradients until the next pass over the region's forward, so that both may be one; None where
    no such pass follows in the same function."""
    source, place = source_of(trace, used.place), used.place
    first = source.statement(place.line) if source is not None and place is not None else None
    if source is None or place is None or first is None:
        return None
    function, loops = source.function(place.line), source.loops(place.line)
    here = [s for s in source.statements if source.function(s.lineno) is function]
    after = [s for s in here if s.lineno >= first.lineno and s is not first]
    if loops:
        body = range(loops[0].lineno, (loops[0].end_lineno or 0) + 1)
        after = [s for s in after if s.lineno in body]
        built = region.stack if region is not None else ()
        if not any(p.file == place.file and p.line in body for p in built):
            # A loop over losses of one forward comes here again.
            after += [s for s in here if s.lineno in body and s.lineno <= first.lineno]
    for stmt in after:
        if any(True for _ in effects(stmt, "pass")):
            return True
        if any(True for _ in effects(stmt, "step", "clear")) or _may_use_gradients(stmt):
            return False if _passes_later(after, stmt) else None
    return None


def _passes_later(after: list[ast.stmt], stmt: ast.stmt) -> bool:
    return any(True for s in after[after.index(stmt) :] for _ in effects(s, "pass"))


def _may_use_gradients(stmt: ast.stmt) -> bool:
    """Whether a statement reads gradients, or is there for what it does (clips, logs, communicates) and not for a value."""
    if isinstance(stmt, ast.Expr) and not isinstance(stmt.value, ast.Constant):
        return True
    for node in (n for part in heads(stmt) for n in ast.walk(part)):
        if isinstance(node, ast.Attribute) and node.attr == "grad":
            return True
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("_"):
            return True
    return False


def _output(trace: Trace, failure: Failure, region: Node | None) -> Carrier | None:
    """What the user calls an output of a region: a name in sight that leads to it, else what the call is assigned to."""
    if region is None:
        return None
    bound = [b for b in trace.bindings if b.when == failure.when and b.number == region.number]
    best = min(bound, key=lambda b: (len(b.path.ways), b.path.scope != "local", len(b.name)), default=None)
    if best is not None:
        return Carrier(best.name, best.kind)
    for place in region.stack:
        source = source_of(trace, place)
        for name in source.targets(place.line) if source is not None else ():
            return Carrier(name, "attribute" if "." in name else "local")
    return None


def _explain(trace: Trace, failure: Failure) -> Finding:
    name = failure.names[0] if failure.names else ""
    again = "the region has run again since, and its CUDA graph writes into the same memory in every run."
    if failure.leaf is not None or "gradient tensor output" in failure.message:
        message = f"A gradient that a compiled region has made is added to in a later pass: {again}"
        remedies = [
            remedy(
                "other",
                "give gradients memory of their own before the first compiled pass: a pass without the compiler, then "
                "zero_grad(set_to_none=False)",
                "What is accumulated then lies outside of the CUDA graph.",
            )
        ]
    else:
        message = f"{quoted(name, 'A tensor')}, output of a compiled region, is read too late: {again}"
        remedies = [
            remedy(
                "clone",
                f"keep a copy: `.clone()` where {quoted(name, 'it')} comes out of the region",
                "A copy has memory of its own; a detached tensor has not.",
                target=name,
            ),
            remedy(
                "other",
                "if it was made in this very iteration: torch.compiler.cudagraph_mark_step_begin() at the beginning of each",
                "Then all outputs of an iteration live until the next; what is carried on from the one before needs a copy.",
            ),
        ]
    return Finding(
        CODE,
        "overwritten-output",
        "error",
        message,
        failed=failure.place,
        carrier=Carrier(name, "local") if name else None,
        built=failure.made_at,
        used=failure.place,
        evidence=tuple(pass_evidence(trace, failure.when)),
        remedies=tuple(remedies),
        facts={"used_stack": [place_of(p) for p in failure.stack]},
    )
