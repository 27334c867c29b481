# SPDX-License-Identifier: BSD-3-Clause
"""Tensors made from nothing, from numbers, and from arrays, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import array_type, default
from .random import default_generator
from .tensors import Tensor
from .thread_state import state

__all__ = [
    "arange", "as_tensor", "empty", "empty_like", "eye", "from_numpy", "full", "full_like", "linspace",
    "ones", "ones_like", "rand", "rand_like", "randint", "randn", "randn_like", "randperm", "tensor", "zeros",
    "zeros_like",
]  # fmt: skip


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        return data._a
    return [_plain(d) for d in data] if isinstance(data, (list, tuple)) else data


def tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    if state.listener is not None and isinstance(data, Tensor) and data.requires_grad:
        state.listener.cut(data, "wrap")
    array = np.array(_plain(data), None if dtype is None else array_type(dtype))
    if array.dtype.kind not in "fiub":
        raise TypeError(f"a tensor cannot be made of {array.dtype} data")
    typed = isinstance(data, (np.ndarray, np.generic, Tensor))
    if dtype is None and not typed and (array.dtype.kind == "f" or not array.size):
        array = array.astype(default.kind)
    return Tensor(array, requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)  # type: ignore[attr-defined]
    return Tensor(data) if isinstance(data, np.ndarray) and dtype is None else tensor(data, dtype)


def from_numpy(array: Any) -> Tensor:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    return Tensor(array)


def _shape(*size: Any) -> tuple[int, ...]:
    shape = tuple(int(s) for s in (size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size))
    if any(s < 0 for s in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def _maker(draw: Callable[[tuple[int, ...], Any, Any], Any], like: bool) -> Callable[..., Tensor]:
    def make(
        *size: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None, generator: Any = None
    ) -> Tensor:
        shape, kind = (size[0]._a.shape, size[0]._a.dtype) if like else (_shape(*size), None)
        array = draw(shape, array_type(dtype, kind), generator or default_generator)
        return Tensor(np.asarray(array), requires_grad)

    return make


zeros, zeros_like = (_maker(lambda s, k, g: np.zeros(s, k), like) for like in (False, True))
ones, ones_like = (_maker(lambda s, k, g: np.ones(s, k), like) for like in (False, True))
empty, empty_like = zeros, zeros_like
rand, rand_like = (_maker(lambda s, k, g: g.uniform(s, k), like) for like in (False, True))
randn, randn_like = (_maker(lambda s, k, g: g.normal(s, k), like) for like in (False, True))


def full(size: Any, fill_value: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    return Tensor(np.full(_shape(size), fill_value, array_type(dtype or type(fill_value))), requires_grad)


def full_like(t: Tensor, fill_value: Any, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    return Tensor(np.full(t._a.shape, fill_value, array_type(dtype, t._a.dtype)), requires_grad)


def arange(*bounds: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    array = np.arange(*bounds)
    kind = array_type(dtype, None if array.dtype.kind == "f" else array.dtype)
    return Tensor(array.astype(kind), requires_grad)


def linspace(start: float, end: float, steps: int, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    return Tensor(np.linspace(start, end, steps, dtype=array_type(dtype)), requires_grad)


def eye(rows: int, columns: int | None = None, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    return Tensor(np.eye(rows, columns, dtype=array_type(dtype)), requires_grad)


def randint(*args: Any, dtype: Any = None, generator: Any = None, device: Any = None) -> Tensor:
    low, high, size = args if len(args) == 3 else (0, *args)
    found = (generator or default_generator).integers(low, high, _shape(size))
    return Tensor(found if dtype is None else found.astype(array_type(dtype)))


def randperm(count: int, generator: Any = None, device: Any = None) -> Tensor:
    return Tensor((generator or default_generator).permutation(count))
