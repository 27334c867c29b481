# SPDX-License-Identifier: BSD-3-Clause
"""`t[key]` and `t[key] = value`: numbers and slices make views, tensors choose elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .inplace import inplace
from .ops import OPS
from .recording import tensors as F
from .tensors import Tensor

__all__ = ["getitem", "setitem"]


def _is_mask(key: Any) -> bool:
    return isinstance(key, Tensor) and key._a.dtype.kind == "b"


def _uses(key: Any) -> int:
    """How many dimensions a key stands for."""
    if _is_mask(key):
        return int(key._a.ndim)
    return 0 if key is None or key is ... or isinstance(key, bool) else 1


def _parts(t: Tensor, key: Any, writing: bool) -> tuple[Tensor, list[Any]]:
    """Takes what plain numbers and slices choose as views; returns the tensors that remain to index with."""
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [Tensor(np.asarray(k)) if isinstance(k, (list, np.ndarray)) else k for k in keys]
    used = sum(map(_uses, keys))
    if used > t._a.ndim:
        raise IndexError(f"too many indices for tensor of dimension {t._a.ndim}")
    found: list[Any] = []
    out, dim = t, 0
    for k in keys:
        if k is None or isinstance(k, bool):
            out, dim = F.unsqueeze(out, dim), dim + 1
        elif k is ...:
            dim += t._a.ndim - used
        elif isinstance(k, slice):
            start, stop, step = k.indices(out._a.shape[dim])
            if step <= 0:
                raise ValueError("step must be greater than zero")
            # `t[:]` alone is a new view; among other keys, and where it is written to, a whole slice is nothing.
            whole = (start, stop, step) == (0, out._a.shape[dim], 1) and (writing or not isinstance(key, slice))
            out = out if whole else F.slice(out, dim, start, max(stop, start), step)
            dim += 1
        elif isinstance(k, Tensor) and (k._a.ndim or _is_mask(k)):
            if not k._a.ndim:
                out, k = F.unsqueeze(out, dim), Tensor(np.zeros(int(k._a), np.int64))
            found += [None] * (dim - len(found)) + [k]
            dim += max(_uses(k), 1)
        else:
            out = F.select(out, dim, int(k))
    return out, found


def getitem(t: Tensor, key: Any) -> Tensor:
    out, found = _parts(t, key, False)
    if found:
        return F.index(out, *found)
    return F.alias(out) if out is t else out


def setitem(t: Tensor, key: Any, value: Any) -> None:
    target, found = _parts(t, key, True)
    if not isinstance(value, Tensor):
        value = Tensor(np.asarray(value, t._a.dtype))
    short, shape = value._a.shape, target._a.shape
    while short and short[0] == 1:
        short = short[1:]
    if found:
        value = value if short == value._a.shape else F.view(value, short)
        inplace(OPS["index_put"], target, value, *found)
    elif value._a.shape == shape:
        inplace(OPS["copy_"], target, value)
    elif not value._a.ndim:
        inplace(OPS["fill_tensor"], target, value)
    else:
        value = F.view(value, short)
        inplace(OPS["copy_"], target, value if short == shape else F.expand(value, shape))
