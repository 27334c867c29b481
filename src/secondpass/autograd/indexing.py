# SPDX-License-Identifier: BSD-3-Clause
"""`t[key]` and `t[key] = value`: numbers and slices make views, tensors choose elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .inplace import inplace
from .namespaces import tensors as F
from .ops import OPS
from .tensors import Tensor

__all__ = ["getitem", "setitem"]


def _parts(t: Tensor, key: Any, writing: bool) -> tuple[Tensor, list[Any]]:
    """Takes what plain numbers and slices choose as views; returns the tensors that remain to index with."""
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [Tensor(np.asarray(k)) if isinstance(k, (list, np.ndarray)) else k for k in keys]
    used = sum(k._a.ndim if isinstance(k, Tensor) and k._a.dtype.kind == "b" else k not in (None, ...)
               if not isinstance(k, Tensor) else 1 for k in keys if not isinstance(k, bool))  # fmt: skip
    if used > t._a.ndim:
        raise IndexError(f"too many indices for tensor of dimension {t._a.ndim}")
    found: list[Any] = []
    out, dim = t, 0
    for k in keys:
        if k is None or isinstance(k, bool):
            out, dim = F.unsqueeze(out, dim=dim), dim + 1
        elif k is ...:
            dim += t._a.ndim - used
        elif isinstance(k, slice):
            start, stop, step = k.indices(out._a.shape[dim])
            if step <= 0:
                raise ValueError("step must be greater than zero")
            if not isinstance(key, slice) or writing:
                full = start == 0 and stop == out._a.shape[dim] and step == 1
            else:
                full = False
            out = out if full else F.slice(out, dim=dim, start=start, stop=max(stop, start), step=step)
            dim += 1
        elif isinstance(k, Tensor) and not k._a.ndim and k._a.dtype.kind == "b":
            out = F.unsqueeze(out, dim=dim)
            found += [None] * (dim - len(found)) + [Tensor(np.zeros(int(k._a), np.int64))]
            dim += 1
        elif isinstance(k, Tensor) and (k._a.ndim or k._a.dtype.kind == "b"):
            found += [None] * (dim - len(found)) + [k]
            dim += k._a.ndim if k._a.dtype.kind == "b" else 1
        else:
            out = F.select(out, dim=dim, index=int(k))
    return out, found


def getitem(t: Tensor, key: Any) -> Tensor:
    """t[key]."""
    out, found = _parts(t, key, False)
    if found:
        return F.index(out, *found)
    return F.alias(out) if out is t else out


def setitem(t: Tensor, key: Any, value: Any) -> None:
    """t[key] = value."""
    target, found = _parts(t, key, True)
    if not isinstance(value, Tensor):
        value = Tensor(np.asarray(value, t._a.dtype))
    short = value._a.shape
    while short and short[0] == 1:
        short = short[1:]
    if found:
        value = value if short == value._a.shape else F.view(value, shape=short)
        inplace(OPS["index_put"], target, value, *found)
        return
    shape = target._a.shape
    if value._a.shape != shape and value._a.ndim:
        value = F.view(value, shape=short)
        if value._a.shape != shape:
            value = F.expand(value, shape=shape)
    elif value._a.shape != shape:
        inplace(OPS["fill_tensor"], target, value)
        return
    inplace(OPS["copy_"], target, value)
