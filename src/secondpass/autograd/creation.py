# SPDX-License-Identifier: BSD-3-Clause
"""Tensors made from nothing, from numbers, and from arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import array_type, default, device
from .graph import GraphError
from .random import default_generator
from .state import state
from .tensors import Tensor

__all__ = [
    "arange", "as_tensor", "bernoulli", "empty", "empty_like", "eye", "from_numpy", "full", "full_like", "linspace",
    "multinomial", "normal", "ones", "ones_like", "rand", "rand_like", "randint", "randn", "randn_like", "randperm",
    "tensor", "zeros", "zeros_like",
]  # fmt: skip


def _leaf(array: Any, requires_grad: bool = False) -> Tensor:
    if requires_grad and array.dtype.kind != "f":
        raise GraphError(f"only Tensors of floating point dtype can require gradients (got {array.dtype})", "other")
    return Tensor(array, requires_grad)


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        return data._a
    return [_plain(d) for d in data] if isinstance(data, (list, tuple)) else data


def tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new leaf with a copy of the data."""
    if state.listener is not None and isinstance(data, Tensor) and data.requires_grad:
        state.listener.cut(data, "wrap")
    array = np.array(_plain(data), None if dtype is None else array_type(dtype))
    if array.dtype.kind not in "fiub":
        raise TypeError(f"a tensor cannot be made of {array.dtype} data")
    if dtype is None and array.dtype.kind == "f" and not isinstance(data, (np.ndarray, np.generic, Tensor)):
        array = array.astype(default.kind)
    if dtype is None and not array.size and isinstance(data, (list, tuple)):
        array = array.astype(default.kind)
    return _leaf(array, requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor, without a copy where none is needed."""
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)  # type: ignore[attr-defined]
    if isinstance(data, np.ndarray) and dtype is None:
        return Tensor(data)
    return tensor(data, dtype)


def from_numpy(array: Any) -> Tensor:
    """A tensor that shares an array's memory."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    return Tensor(array)


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    chosen = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    shape = tuple(int(s) for s in chosen)
    if any(s < 0 for s in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def _maker(draw: Callable[[tuple[int, ...], Any, Any], Any], like: bool) -> Callable[..., Tensor]:
    def make(
        *size: Any,
        dtype: Any = None,
        requires_grad: bool = False,
        device: Any = None,
        generator: Any = None,
        layout: Any = None,
    ) -> Tensor:
        if like:
            shape, kind = size[0]._a.shape, size[0]._a.dtype
        else:
            shape, kind = _shape(size), default.kind
        kind = kind if dtype is None else array_type(dtype)
        return _leaf(np.asarray(draw(shape, kind, generator or default_generator)), requires_grad)

    return make


zeros, zeros_like = (_maker(lambda s, k, g: np.zeros(s, k), like) for like in (False, True))
ones, ones_like = (_maker(lambda s, k, g: np.ones(s, k), like) for like in (False, True))
empty, empty_like = (_maker(lambda s, k, g: np.zeros(s, k), like) for like in (False, True))
rand, rand_like = (_maker(lambda s, k, g: g.uniform(s, k), like) for like in (False, True))
randn, randn_like = (_maker(lambda s, k, g: g.normal(s, k), like) for like in (False, True))


def full(size: Any, fill_value: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """A tensor of one value."""
    kind = array_type(dtype if dtype is not None else type(fill_value))
    return _leaf(np.full(_shape((size,)), fill_value, kind), requires_grad)


def full_like(t: Tensor, fill_value: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of one value in the shape of another."""
    return _leaf(np.full(t._a.shape, fill_value, t._a.dtype if dtype is None else array_type(dtype)), requires_grad)


def arange(*bounds: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """Numbers at a distance of one step."""
    array = np.arange(*bounds)
    kind = array_type(dtype) if dtype is not None else default.kind if array.dtype.kind == "f" else array.dtype
    return _leaf(array.astype(kind), requires_grad)


def linspace(start: float, end: float, steps: int, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """So many numbers from start to end."""
    return _leaf(
        np.linspace(start, end, steps, dtype=default.kind if dtype is None else array_type(dtype)), requires_grad
    )


def eye(rows: int, columns: int | None = None, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones on the diagonal."""
    return _leaf(np.eye(rows, columns, dtype=default.kind if dtype is None else array_type(dtype)), requires_grad)


def randint(*args: Any, dtype: Any = None, generator: Any = None, device: Any = None) -> Tensor:
    """Integers: `randint(high, size)` or `randint(low, high, size)`."""
    low, high, size = args if len(args) == 3 else (0, *args)
    found = (generator or default_generator).integers(low, high, _shape((size,)))
    return Tensor(found if dtype is None else found.astype(array_type(dtype)))


def randperm(count: int, generator: Any = None, device: Any = None) -> Tensor:
    """The numbers below `count`, shuffled."""
    return Tensor((generator or default_generator).permutation(count))


def normal(mean: Any, std: Any, size: Any = None, generator: Any = None) -> Tensor:
    """Normally distributed numbers."""
    m, s = (x._a if isinstance(x, Tensor) else x for x in (mean, std))
    shape = _shape((size,)) if size is not None else np.broadcast_shapes(np.shape(m), np.shape(s))
    return Tensor((generator or default_generator).normal(shape, default.kind) * s + m)


def bernoulli(p: Tensor, generator: Any = None) -> Tensor:
    """Ones with the given probabilities, else zeros."""
    drawn = (generator or default_generator).uniform(p._a.shape, np.float64)
    return Tensor((drawn < p._a).astype(p._a.dtype))


def multinomial(weights: Tensor, num_samples: int, replacement: bool = False, generator: Any = None) -> Tensor:
    """Positions drawn with the given weights along the last dimension."""
    rows = np.atleast_2d(weights._a)
    drawn = (generator or default_generator).uniform(rows.shape, np.float64)
    if replacement:
        edges = np.cumsum(rows, -1) / rows.sum(-1, keepdims=True)
        ticks = (generator or default_generator).uniform((len(rows), num_samples), np.float64)
        found = np.stack([np.searchsorted(e, t) for e, t in zip(edges, ticks, strict=True)])
    else:
        with np.errstate(divide="ignore"):
            keys = np.where(rows > 0, np.log(drawn) / rows, -np.inf)
        found = np.argsort(-keys, -1)[:, :num_samples]
    return Tensor(found if weights._a.ndim > 1 else found[0])


CPU = device("cpu")
