# SPDX-License-Identifier: BSD-3-Clause
"""The functions by the names that users call: rows of the op table, and what is composed of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import functions, products
from .dtypes import array_type
from .inplace import inplace
from .namespaces import tensors as F
from .ops import OPS
from .recording import apply
from .tensors import Tensor

__all__ = ["FUNCTIONS", "INPLACE", "row"]

UNARY = (
    "abs acos alias ceil cos erf exp expm1 floor isfinite isinf isnan log log1p logical_not neg reciprocal relu round "
    "rsqrt sgn sigmoid sign sin sqrt tanh"
).split()
BINARY = "add sub mul div eq ne lt le gt ge maximum minimum logical_and logical_or logical_xor mm bmm mv dot".split()


def row(name: str) -> Callable[..., Any]:
    """A row of the table as a function."""
    op = OPS[name]

    def run(*args: Any, **params: Any) -> Any:
        return apply(op, *args, **params)

    run.__name__ = run.__qualname__ = name
    return run


def _with_dim(name: str, default: Any = None) -> Callable[..., Any]:
    """An operation along a dimension that may be given by position."""
    run = getattr(F, name)

    def along(t: Tensor, dim: Any = default, *rest: Any, dtype: Any = None, **params: Any) -> Any:
        if isinstance(dim, list):
            dim = tuple(dim)
        if dtype is not None:
            t = functions.to(t, array_type(dtype))
        return run(t, *rest, dim=dim, **params)

    return along


def _clamp(t: Tensor, min: Any = None, max: Any = None) -> Tensor:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return F.clamp(t, min=min, max=max)


def _permute(t: Tensor, *dims: Any) -> Tensor:
    if not dims:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    return F.permute(t, dims=tuple(dims[0]) if isinstance(dims[0], (tuple, list)) else dims)


def _reshape(t: Tensor, *shape: Any) -> Tensor:
    return F.reshape(t, shape=functions.sizes(shape[0], shape[1:]))


def _t(t: Tensor) -> Tensor:
    if t._a.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {t._a.ndim}D")
    return F.t(t)


def _dims(t: Tensor, *dims: Any) -> Tensor:
    return F.flip(t, dims=tuple(dims[0]) if isinstance(dims[0], (tuple, list)) else dims)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: row(name) for name in UNARY if name in OPS},
    **{name: row(name) for name in BINARY},
    "sum": functions.reduced("sum"), "mean": functions.reduced("mean"), "prod": functions.reduced("prod"),
    "max": functions.extreme("max", "maximum"), "min": functions.extreme("min", "minimum"),
    "var": functions.spread("var"), "std": functions.spread("std"), "norm": functions.norm, "pow": functions.pow,
    "logsumexp": _with_dim("logsumexp"), "amax": _with_dim("amax", ()), "amin": _with_dim("amin", ()),
    "argmax": _with_dim("argmax"), "argmin": _with_dim("argmin"), "cumsum": _with_dim("cumsum"),
    "all": _with_dim("all"), "any": _with_dim("any"),
    "softmax": _with_dim("softmax"), "log_softmax": _with_dim("log_softmax"),
    "clamp": _clamp, "clip": _clamp, "clamp_min": lambda t, min: F.clamp_min(t, min=min),
    "clamp_max": lambda t, max: F.clamp_max(t, max=max), "square": lambda t: F.pow(t, exponent=2),
    "matmul": products.matmul, "outer": products.outer, "addmm": lambda c, a, b: F.addmm(c, a, b),
    "baddbmm": lambda c, a, b: F.baddbmm(c, a, b), "lerp": lambda a, b, weight: F.lerp(a, b, weight=weight),
    "remainder": functions.remainder,
    "reshape": _reshape, "flatten": functions.flatten, "squeeze": functions.squeeze, "unsqueeze": functions.unsqueeze,
    "transpose": functions.transpose, "swapaxes": functions.transpose, "t": _t, "permute": _permute,
    "split": functions.split, "chunk": functions.chunk, "unbind": functions.unbind, "flip": _dims,
    "narrow": functions.narrow,
    "select": lambda t, dim, index: F.select(t, dim=dim, index=index), "diagonal": row("diagonal"),
    "roll": lambda t, shifts, dims=0: F.roll(t, shifts=(shifts,) if isinstance(shifts, int) else tuple(shifts),
                                             dims=(dims,) if isinstance(dims, int) else tuple(dims)),
    "tril": lambda t, diagonal=0: F.tril(t, diagonal=diagonal),
    "triu": lambda t, diagonal=0: F.triu(t, diagonal=diagonal), "clone": lambda t, **_: F.clone(t),
    "masked_fill": functions.masked_fill, "masked_select": row("masked_select"),
    "gather": lambda t, dim, index: F.gather(t, index, dim=dim),
    "scatter": lambda t, dim, index, src: F.scatter(t, index, src, dim=dim) if isinstance(src, Tensor)
               else F.scatter_value(t, index, dim=dim, value=src),
    "scatter_add": lambda t, dim, index, src: F.scatter_add(t, index, src, dim=dim),
    "index_select": lambda t, dim, index: F.index_select(t, index, dim=dim),
    "index_add": lambda t, dim, index, source: F.index_add(t, index, source, dim=dim),
    "sort": lambda t, dim=-1, descending=False: functions.ordered("sort", t, None, dim, descending),
    "topk": lambda t, k, dim=-1, largest=True, sorted=True: functions.ordered("topk", t, k, dim, largest),
    "subtract": row("sub"), "multiply": row("mul"), "divide": row("div"), "true_divide": row("div"),
    "absolute": row("abs"), "negative": row("neg"),
    "numel": lambda t: t._a.size, "is_tensor": lambda t: isinstance(t, Tensor),
    "allclose": lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: bool(
        np.allclose(a._a, b._a, rtol, atol, equal_nan)),
    "equal": lambda a, b: bool(np.array_equal(a._a, b._a)),
    "detach": lambda t: t.detach(),
}  # fmt: skip
"""The functions that are methods too."""


# --- in place: the same rows, written over the first argument
def _inplace(name: str, *names: str) -> Callable[..., Any]:
    op = OPS[name]

    def run(t: Tensor, *args: Any, **params: Any) -> Tensor:
        params.update(zip(names, args, strict=False))
        return inplace(op, t, *args[len(names) :], **params)

    return run


INPLACE: dict[str, Callable[..., Any]] = {
    **{f"{n}_": _inplace(n) for n in "add sub mul div abs ceil exp expm1 floor log log1p neg reciprocal relu round "
       "rsqrt sigmoid sign sin cos sqrt tanh erf maximum".split()},
    "pow_": _inplace("pow", "exponent"), "clamp_": _inplace("clamp", "min", "max"), "zero_": _inplace("zero"),
    "clamp_min_": _inplace("clamp_min", "min"), "clamp_max_": _inplace("clamp_max", "max"),
    "copy_": lambda t, source, non_blocking=False: inplace(OPS["copy_"], t, source),
    "fill_": lambda t, value: inplace(OPS["fill_tensor"], t, value) if isinstance(value, Tensor)
             else inplace(OPS["fill"], t, value=value),
    "masked_fill_": lambda t, mask, value: inplace(OPS["masked_fill"], t, mask, value=value),
    "lerp_": lambda t, end, weight: inplace(OPS["lerp"], t, end, weight=weight),
    "index_add_": lambda t, dim, index, source: inplace(OPS["index_add"], t, index, source, dim=dim),
    "scatter_add_": lambda t, dim, index, src: inplace(OPS["scatter_add"], t, index, src, dim=dim),
    "index_copy_": lambda t, dim, index, source: inplace(OPS["index_put"], t, source, *[None] * dim, index),
    "index_put_": lambda t, indices, values, accumulate=False: inplace(OPS["index_put"], t, values, *indices,
                                                                      accumulate=accumulate),
}  # fmt: skip
