# SPDX-License-Identifier: BSD-3-Clause
"""Holding everything that a block of code saves.

A call of a function is known by its results. A block of code has none, so what its nodes save must lead to it: all of it
is packed, and held as it is.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import Parameter

from ..recompute.op import GIVEN, PARAMETER, SOURCE, Op, Saved, Value, form_of
from .graph import storage_of
from .store import HOLD, Store

__all__ = ["holding"]


@contextlib.contextmanager
def holding(store: Store, unpack: Callable[[Saved], torch.Tensor]) -> Iterator[None]:
    """Within, all that is saved is held by the store."""
    op = Op(None, 0, 0)
    known: dict[int, weakref.ref[Value]] = {}

    def pack(tensor: torch.Tensor) -> Saved:
        key, size = storage_of(tensor)
        value = known[key]() if key in known else None  # as long as it is alive, nobody else has its address
        if value is None or not value.here or value.version != tensor._version or not key:
            value = Value(store, key, tensor._version, size, 0)
            base = tensor._base if tensor._is_view() else tensor
            value.kind = PARAMETER if type(base) is Parameter else SOURCE if tensor.requires_grad else GIVEN
            known[key] = weakref.ref(value)
        return store.save(value, tensor, op, 0, HOLD, form_of(tensor, store.forms))

    with saved_tensors_hooks(pack, unpack):
        yield
