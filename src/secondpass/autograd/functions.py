# SPDX-License-Identifier: BSD-3-Clause
"""Functions that choose among rows of the op table, or are several of them, as PyTorch composes them."""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import numpy as np

from .graph import GraphError
from .namespaces import cat, reshape
from .namespaces import tensors as F
from .ops import OPS
from .recording import apply
from .tensors import Tensor

Pair = namedtuple("Pair", "values indices")


def axis(dim: int, ndim: int) -> int:
    """A dimension counted from the front; IndexError where there is none."""
    room = max(ndim, 1)
    if not -room <= dim < room:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-room}, {room - 1}], but got {dim})")
    return dim % room


def reduced(name: str) -> Any:
    """sum, mean, prod: over everything, or over some dimensions."""

    def run(t: Tensor, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
        if name == "mean" and t._a.dtype.kind != "f":
            raise RuntimeError(
                f"mean(): could not infer output dtype. Input dtype must be floating point (got {t.dtype})"
            )
        if dtype is not None:
            t = t.to(dtype)  # type: ignore[attr-defined]
        if dim is None:
            return getattr(F, name)(t)
        dims = tuple(dim) if isinstance(dim, (tuple, list)) else dim
        chosen = [axis(d, t._a.ndim) for d in (dims if isinstance(dims, tuple) else (dims,))]
        if len(set(chosen)) < len(chosen):
            raise RuntimeError(f"dim {max(chosen, key=chosen.count)} appears multiple times in the list of dims")
        return getattr(F, f"{name}_dim")(t, dim=dims, keepdim=keepdim)

    return run


def extreme(name: str, pairwise: str) -> Any:
    """max, min: of everything, along a dimension, or of two tensors."""

    def run(t: Tensor, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
        if isinstance(dim, Tensor) or other is not None:
            return getattr(F, pairwise)(t, dim if other is None else other)
        if dim is None:
            return getattr(F, name)(t)
        return Pair(*getattr(F, f"{name}_dim")(t, dim=axis(dim, t._a.ndim), keepdim=keepdim))

    return run


def spread(name: str) -> Any:
    """var, std."""

    def run(
        t: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, correction: Any = 1
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = int(unbiased)
        how = {} if dim is None else {"dim": tuple(dim) if isinstance(dim, (tuple, list)) else dim, "keepdim": keepdim}
        return getattr(F, name)(t, correction=correction, **how)

    return run


def norm(t: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The 1- or 2-norm."""
    if p not in (1, 2, "fro"):
        raise RuntimeError(f"only the 1- and 2-norm are supported (got p={p!r})")
    how = {} if dim is None else {"dim": tuple(dim) if isinstance(dim, (tuple, list)) else dim, "keepdim": keepdim}
    return F.vector_norm(t, p=1 if p == 1 else 2, **how)


def pow(t: Any, exponent: Any) -> Tensor:
    """t ** exponent, either of which may be a number."""
    if not isinstance(t, Tensor):
        return F.rpow(exponent, base=t)
    return F.pow_tensor(t, exponent) if isinstance(exponent, Tensor) else F.pow(t, exponent=exponent)


def remainder(t: Tensor, other: Any) -> Tensor:
    """What a division to below leaves."""
    return F.remainder_tensor(t, other) if isinstance(other, Tensor) else F.remainder(t, value=other)


def ordered(name: str, t: Tensor, k: int | None, dim: int, largest: bool) -> Any:
    """sort, topk."""
    d = axis(dim, t._a.ndim)
    count = k if k is not None else t._a.shape[d] if t._a.ndim else 1
    return Pair(*getattr(F, name)(t, k=count, dim=d, largest=largest))


def sizes(shape: Any, args: Any) -> tuple[int, ...]:
    """A shape, given as one argument or as several."""
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape, *args)


def view(t: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape."""
    return F.view(t, shape=sizes(shape[0], shape[1:]))


def flatten(t: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Several dimensions as one."""
    if not t._a.ndim:
        return reshape(t, (1,))
    a, b = axis(start_dim, t._a.ndim), axis(end_dim, t._a.ndim)
    shape = t._a.shape
    return t if a == b else reshape(t, (*shape[:a], math.prod(shape[a : b + 1]), *shape[b + 1 :]))


def expand(t: Tensor, *shape: Any) -> Tensor:
    """A view in which dimensions of size 1 are repeated."""
    want = sizes(shape[0], shape[1:])
    lead = len(want) - t._a.ndim
    return F.expand(t, shape=tuple(t._a.shape[i - lead] if s == -1 else s for i, s in enumerate(want)))


def squeeze(t: Tensor, dim: int | None = None) -> Tensor:
    """Without the dimensions of size 1."""
    return F.squeeze(t) if dim is None else F.squeeze_dim(t, dim=axis(dim, t._a.ndim))


def unsqueeze(t: Tensor, dim: int) -> Tensor:
    """With one more dimension of size 1."""
    return F.unsqueeze(t, dim=axis(dim, t._a.ndim + 1))


def transpose(t: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    return F.transpose(t, dim0=dim0, dim1=dim1)


def split(t: Tensor, size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of a size, or of given sizes, as views."""
    if not t._a.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = axis(dim, t._a.ndim)
    if not isinstance(size, int):
        return F.split_with_sizes(t, sizes=tuple(size), dim=d)
    length = t._a.shape[d]
    return F.split(t, sizes=tuple(min(size, length - i) for i in range(0, length, size)), dim=d)


def chunk(t: Tensor, chunks: int, dim: int = 0, unsafe: bool = False) -> tuple[Tensor, ...]:
    """So many parts, the last one perhaps smaller."""
    if not t._a.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    d = axis(dim, t._a.ndim)
    size = -(-t._a.shape[d] // chunks)
    if unsafe:
        return F.unsafe_split(t, sizes=(size,) * (t._a.shape[d] // size), dim=d)
    return split(t, size, d)


def unbind(t: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along a dimension."""
    if not t._a.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return F.unbind(t, dim=axis(dim, t._a.ndim))


def narrow(t: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A part of a dimension."""
    if not t._a.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    size = t._a.shape[axis(dim, t._a.ndim)]
    if not -size <= start <= size or start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return F.slice(t, dim=dim, start=start, stop=start + length)


def joined(parts: Any, dim: int = 0) -> Tensor:
    """Tensors one after the other."""
    many = list(parts)
    return cat(many, axis(dim, many[0]._a.ndim))


def stack(parts: Any, dim: int = 0) -> Tensor:
    """Tensors side by side in a new dimension."""
    many = list(parts)
    return F.stack(*many, dim=axis(dim, many[0]._a.ndim + 1))


def where(condition: Tensor, a: Any = None, b: Any = None) -> Any:
    """a where the condition holds, else b."""
    return tuple(Tensor(i) for i in np.nonzero(condition._a)) if a is None else F.where(condition, a, b)


def masked_fill(t: Tensor, mask: Tensor, value: Any) -> Tensor:
    """The value where the mask holds, else t."""
    if isinstance(value, Tensor):
        return F.masked_fill_tensor(t, mask, value)
    return F.masked_fill(t, mask, value=value)


def contiguous(t: Tensor) -> Tensor:
    """The tensor itself where its memory is in order, else a copy."""
    return t if t._a.flags.c_contiguous else F.contiguous(t)


def item(t: Tensor) -> Any:
    """The only element as a Python number."""
    if t._a.size != 1:
        raise RuntimeError(f"a Tensor with {t._a.size} elements cannot be converted to Scalar")
    return t._a.item()


def no_history(t: Tensor, what: str) -> None:
    """Raises where values would leave the graph unnoticed."""
    if t.requires_grad:
        raise GraphError(
            f"Can't call {what} on Tensor that requires grad. Use tensor.detach().{what} instead.", "other"
        )


def to(t: Tensor, kind: Any) -> Tensor:
    """The tensor in another element type."""
    return t if t._a.dtype == kind else apply(OPS["to_copy"], t, dtype=kind)
