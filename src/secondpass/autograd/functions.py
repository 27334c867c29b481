# SPDX-License-Identifier: BSD-3-Clause
"""Functions by the names that users call: rows of the op table, and what chooses among them or is several of them."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from .inplace import inplace
from .ops import OPS
from .ops.reduce import axis
from .ops.shape import address, empty_strided
from .recording import arrays, row
from .recording import tensors as F
from .tensors import Tensor

__all__ = ["FUNCTIONS"]

Pair = namedtuple("Pair", "values indices")


def sizes(args: Any) -> tuple[int, ...]:
    """A shape, given as one argument or as several."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else tuple(args)


# --- reductions
def _reduced(name: str) -> Callable[..., Any]:
    """sum, mean, prod: over everything, or over some dimensions."""
    whole, along = row(name), row(f"{name}_dim")
    return lambda t, dim=None, keepdim=False: whole(t) if dim is None else along(t, dim, keepdim)


def _extreme(name: str, pairwise: str) -> Callable[..., Any]:
    """max, min: of everything, along a dimension, or of two tensors."""

    def run(t: Tensor, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
        if isinstance(dim, Tensor) or other is not None:
            return getattr(F, pairwise)(t, dim if other is None else other)
        if dim is None:
            return getattr(F, name)(t)
        return Pair(*getattr(F, f"{name}_dim")(t, axis(dim, t._a.ndim), keepdim))

    return run


def _spread(name: str) -> Callable[..., Any]:
    """var, std: `unbiased` is the older way to say `correction`."""

    def run(t: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, correction: Any = 1) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return getattr(F, name)(t, dim, keepdim, correction if unbiased is None else int(unbiased))

    return run


def norm(t: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    if p not in (1, 2, "fro"):
        raise RuntimeError(f"only the 1- and 2-norm are supported (got p={p!r})")
    return F.vector_norm(t, 1 if p == 1 else 2, dim, keepdim)


def power(t: Any, exponent: Any) -> Tensor:
    """t ** exponent, either of which may be a number."""
    if not isinstance(t, Tensor):
        return F.rpow(exponent, t)
    return F.pow_tensor(t, exponent) if isinstance(exponent, Tensor) else F.pow(t, exponent)


# --- shapes
def reshape(t: Tensor, *shape: Any) -> Tensor:
    """A view where the memory allows it, else a copy."""
    array, want = t._a, sizes(shape)
    if array.flags.c_contiguous or not array.size:
        return F.view(t, want)
    try:
        out = array.reshape(want)
    except ValueError:
        return F.view(t, want)  # says why it cannot
    shares = address(array) == address(out)
    return F.reshape_alias(t, out.shape) if shares else F.unsafe_view(F.contiguous(t), out.shape)


def flatten(t: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    shape = t._a.shape
    if not shape:
        return reshape(t, 1)
    a, b = axis(start_dim, len(shape)), axis(end_dim, len(shape))
    return t if a == b else reshape(t, *shape[:a], math.prod(shape[a : b + 1]), *shape[b + 1 :])


def expand(t: Tensor, *shape: Any) -> Tensor:
    want = sizes(shape)
    lead = len(want) - t._a.ndim
    return F.expand(t, tuple(t._a.shape[i - lead] if s == -1 else s for i, s in enumerate(want)))


def permute(t: Tensor, *dims: Any) -> Tensor:
    if not dims:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    return F.permute(t, sizes(dims))


def _length(t: Tensor, dim: int) -> int:
    if not t._a.ndim:
        raise RuntimeError("split and chunk expect at least a 1-dimensional tensor")
    return int(t._a.shape[axis(dim, t._a.ndim)])


def split(t: Tensor, size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of a size, or of given sizes, as views."""
    length, d = _length(t, dim), axis(dim, t._a.ndim)
    if not isinstance(size, int):
        return F.split_with_sizes(t, tuple(size), d)
    return F.split(t, tuple(min(size, length - i) for i in range(0, length, size)), d)


def chunk(t: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    return split(t, -(-_length(t, dim) // chunks), dim)


def _joined(name: str, more: int) -> Callable[..., Any]:

    def run(tensors: Any, dim: int = 0) -> Tensor:
        many = list(tensors)
        return getattr(F, name)(*many, dim=axis(dim, many[0]._a.ndim + more))

    return run


def where(condition: Tensor, a: Any = None, b: Any = None) -> Any:
    return tuple(Tensor(i) for i in np.nonzero(condition._a)) if a is None else F.where(condition, a, b)


def masked_fill(t: Tensor, mask: Tensor, value: Any) -> Tensor:
    return (F.masked_fill_tensor if isinstance(value, Tensor) else F.masked_fill)(t, mask, value)


def to(t: Tensor, kind: Any) -> Tensor:
    return t if t._a.dtype == kind else F.to_copy(t, kind)


ROWS = (
    "abs add addmm alias all amax amin any argmax argmin bmm ceil clamp clamp_max clamp_min cos cumsum div dot eq exp "
    "expm1 floor ge gt isfinite isinf isnan le lerp log log1p log_softmax logical_and logical_not logical_or lt "
    "masked_select maximum minimum mm mul mv ne neg reciprocal relu remainder roll round rsqrt select sgn sigmoid sign sin "
    "softmax sqrt sub t tanh transpose tril triu unbind"
).split()
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: row(name) for name in ROWS},
    "sum": _reduced("sum"), "mean": _reduced("mean"), "prod": _reduced("prod"), "max": _extreme("max", "maximum"),
    "min": _extreme("min", "minimum"), "var": _spread("var"), "std": _spread("std"), "norm": norm, "pow": power,
    "clip": row("clamp"), "square": lambda t: F.pow(t, 2), "clone": lambda t, **_: F.clone(t),
    "reshape": reshape, "flatten": flatten, "permute": permute, "split": split, "chunk": chunk,
    "squeeze": lambda t, dim=None: F.squeeze(t) if dim is None else F.squeeze_dim(t, axis(dim, t._a.ndim)),
    "unsqueeze": lambda t, dim: F.unsqueeze(t, axis(dim, t._a.ndim + 1)), "flip": lambda t, *d: F.flip(t, sizes(d)),
    "masked_fill": masked_fill, "gather": lambda t, dim, index: F.gather(t, index, dim),
    "numel": lambda t: t._a.size, "is_tensor": lambda t: isinstance(t, Tensor), "detach": lambda t: t.detach(),
    "equal": lambda a, b: bool(np.array_equal(a._a, b._a)),
    "allclose": lambda a, b, rtol=1e-5, atol=1e-8: bool(np.allclose(a._a, b._a, rtol, atol)),
}  # fmt: skip
"""The functions that are methods too."""
JOINS = {"cat": _joined("cat", 0), "concat": _joined("cat", 0), "stack": _joined("stack", 1), "where": where}
"""Those that are not."""

# What formulas need beside the rows.
arrays.reshape = lambda g, shape: g.reshape(shape)
arrays.empty_strided = empty_strided
F.reshape = reshape
F.empty_strided = lambda g, size, stride: Tensor(empty_strided(g._a, size, stride))
F.copy_ = lambda target, source: inplace(OPS["copy_"], target, source)
