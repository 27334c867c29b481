# SPDX-License-Identifier: BSD-3-Clause
"""Proving that a value can be computed again, while it is still here.

Each operation is run again once from the very memory that it was given, and its result compared with what is held, bit
for bit. It is PyTorch's own function with the arguments of the forward, so what is proved is that the function gives
the same result again, and that nobody whom the tape did not see has written to it. A value that differs is held. Where
parameters have changed since nothing is proved, neither the one nor the other.
"""

from __future__ import annotations

import torch

from ..errors import ChangedError
from ..saved.graph import emptied, same_bits
from .functions import traits
from .op import Holder, Value
from .replay import closure, compute

__all__ = ["verify"]


def verify(store: Holder, value: Value) -> bool:
    """Can it be computed again? Where it is known that it cannot, the value has no operation any more, and knows why."""
    if value.trusted:
        return True
    op = value.op
    if op is None or value.data is None or not value.here or value.written or emptied(value.data):
        return False
    try:
        value.trusted = _same(store, value) or _same_with_graphs(store, value)
    except ChangedError:
        return False
    if value.trusted:
        return True
    value.why = f"`{op.name}` did not give the same result again"
    value.op = None
    return False


def _same(store: Holder, value: Value) -> bool:
    assert value.data is not None
    assert value.op is not None
    try:
        found = compute(store, value, _nothing)
    except ChangedError:
        raise
    except RuntimeError:
        return False
    if traits(value.op.func).recurrent and value.slot[0] == "pack" and value.data.dtype == torch.uint8:
        return True  # the workspace of a recurrent kernel, of which it leaves parts unwritten
    return same_bits(_whole(found), _whole(value.data))


def _same_with_graphs(store: Holder, value: Value) -> bool:
    """Some functions take another way when nobody will differentiate: those of them on which it depends get a graph."""
    plain = [op for op in closure([value]) or () if not op.grad]
    for op in plain:
        op.grad = True
    same = _same(store, value)
    for op in plain:
        op.grad = False
        if same and not _same(store, value):
            op.grad = True
    return same


def _nothing(_: Value) -> bool:
    return False


def _whole(tensor: torch.Tensor) -> torch.Tensor:
    """All of the memory that a tensor lies in."""
    storage = tensor.untyped_storage()
    kind = torch.int64 if storage.nbytes() % 8 == 0 else torch.uint8
    return torch.empty(0, dtype=kind, device=tensor.device).set_(storage)
