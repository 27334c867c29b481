# SPDX-License-Identifier: BSD-3-Clause
"""What the formulas need beside the rows of the table, over arrays and over tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .inplace import inplace
from .ops import OPS, values
from .ops.shape import shares
from .recording import apply, arrays, tensors
from .tensors import Tensor

__all__ = ["arrays", "cat", "reshape", "tensors"]


def _over(F: Any) -> None:
    def sum_to(g: Any, shape: Any) -> Any:
        mine = g.shape
        if not shape:
            return F.sum(g)
        lead = len(mine) - len(shape)
        dims = tuple(i for i, n in enumerate(mine) if i < lead or (shape[i - lead] == 1 and n != 1))
        if dims:
            g = F.sum_dim(g, dim=dims, keepdim=True)
        return F.view(g, shape=tuple(shape)) if lead > 0 else g

    F.sum_to = sum_to


def _empty_strided(g: Any, size: Any, stride: Any) -> Any:
    span = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    return values.as_strided(np.empty(span, g.dtype), size, stride, 0)


def reshape(t: Tensor, shape: Any) -> Tensor:
    """A view where the memory allows it, else a copy."""
    array = t._a
    if not array.flags.c_contiguous and array.size:
        try:
            out = array.reshape(shape)
        except ValueError:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {array.size}") from None
        if not shares(array, out):
            return apply(OPS["unsafe_view"], apply(OPS["contiguous"], t), shape=out.shape)
        return apply(OPS["reshape_alias"], t, shape=out.shape)
    return apply(OPS["view"], t, shape=shape)


def cat(parts: Sequence[Tensor], dim: int) -> Tensor:
    """Tensors one after the other."""
    if len({p._a.ndim for p in parts if p._a.shape != (0,)}) > 1 or any(not p._a.ndim for p in parts):
        raise RuntimeError(f"Tensors must have the same number of dimensions (got {[list(p.shape) for p in parts]})")
    return apply(OPS["cat_sized"], *parts, dim=dim, sizes=[0 if p._a.shape == (0,) else p._a.shape[dim] for p in parts])


_over(arrays)
_over(tensors)
arrays.reshape = lambda g, shape: g.reshape(shape)
arrays.cat = lambda *parts, dim: np.concatenate(parts, dim)
arrays.matrix_product = lambda a, b: a @ b
arrays.empty_strided = _empty_strided
tensors.reshape = reshape
tensors.cat = lambda *parts, dim: cat(parts, dim)
tensors.matrix_product = lambda a, b: apply(OPS["mm"], a, b)
tensors.empty_strided = lambda g, size, stride: Tensor(_empty_strided(g._a, size, stride))
tensors.copy_ = lambda target, source: inplace(OPS["copy_"], target, source)
