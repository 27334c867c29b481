# SPDX-License-Identifier: BSD-3-Clause
"""Another in-place operation changes a tensor that a pass needs.

## What happened

A node saved a tensor for its pass, and a later line wrote into that tensor:
`h += 1`, `h[:, 0] = 0`, `relu_()`, `masked_fill_()`, `out=`, a cache filled
slot by slot. When the pass came, the values that its derivative needs were
gone.

## Why PyTorch refuses

Every tensor counts its changes; a node notes the count of what it saves, and
the pass compares. All views of a tensor share one count, so writing into one
slice spoils its neighbour, too, although no number in it has changed.

What a node saves decides whether a write hurts. `sigmoid`, `tanh`, `exp`,
`softmax`, `sqrt` and `relu` save their *result*: writing into it is an error.
A product saves its factors, a matrix product both matrices. A sum saves
nothing, and its result may be overwritten.

## How to tell

The message says "modified by an inplace operation" and names the node that
saved the tensor, with two versions: as saved, and as it is now. It does not
name the line that wrote. Neither does anomaly mode: it shows the line that
made the reader. Look for names ending in `_`, for `+=` and for `[...] =`
between the two.

## Remedies

- **clone**: make a new tensor instead of writing into the old one. `h = h * m`
  for `h *= m`; `torch.where`, `cat` and `stack` for assignments to slices; or
  `h = h.clone()` before the write.

## Example

```python
import torch

layer = torch.nn.Linear(4, 4)
x, mask = torch.randn(8, 4), torch.ones(4)

gate = torch.sigmoid(layer(x))
gate *= mask  # sigmoid had saved `gate`
loss = (gate * x).sum()
loss.backward()  # RuntimeError: modified by an inplace operation
```

A new tensor leaves the saved one as it was:

```python
import torch

layer = torch.nn.Linear(4, 4)
x, mask = torch.randn(8, 4), torch.ones(4)

gate = torch.sigmoid(layer(x))
gate = gate * mask
loss = (gate * x).sum()
loss.backward()
```

## What people do instead, and why not

`retain_graph=True`: the saved tensor is there, so nothing changes. `gate.data
*= mask` goes behind the count: the program runs, and the gradient is computed
from values that the forward never saw. `detach()` before the write shares
memory and count with the original, and ends the history on top of it. Adding
`clone()` everywhere works and costs memory: one, before the write, is enough.
"""

from __future__ import annotations

from ..record import Finding, Trace
from ._finding import about_change, quoted, remedy
from .facts.change import Change, changes

CODE = "SP202"
TITLE = "a tensor that a backward needs is changed in place"
MESSAGES = (
    "modified by an inplace operation",
    "one of the variables needed for gradient computation has been modified",
)
REMEDIES = ("clone",)
INSTEAD = "`retain_graph=True` does not help: the saved tensor is there, but changed."
CAUSED_BY = ("retain-graph",)


def diagnose(trace: Trace) -> list[Finding]:
    """In-place errors whose tensor is no parameter."""
    return [_explain(c) for c in changes(trace) if not c.is_parameter]


def _explain(change: Change) -> Finding:
    write = change.write
    name = write.target if write and write.target else change.failure.names[0] if change.failure.names else ""
    shown = quoted(name, "a tensor")
    how = f" by `{write.how}`" if write is not None and write.how else ""
    # An in-place change of a view is recorded under a name that says nothing to its author.
    known = change.node is not None and not change.node.op.endswith("CopySlices")
    op = change.node.op if change.node is not None and known else "an earlier operation"
    message = f"{shown} is changed in place{how}, but {op} had saved it and its backward needs the old values."
    remedies = [
        remedy(
            "clone",
            f"make the layer without `inplace=True`: `{write.how.replace('True', 'False')}`"
            if write is not None and write.how.endswith("(inplace=True)")
            else f"make a new tensor instead of changing {shown} in place",
            "The saved values then stay as they were; only the name moves on to the new tensor.",
            target=name,
            place=write.place if write else None,
        )
    ]
    return about_change(CODE, "inplace-change", change, message, remedies)
