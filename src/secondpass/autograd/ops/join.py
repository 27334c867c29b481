# SPDX-License-Identifier: BSD-3-Clause
"""Putting tensors together, and rearranging them as copies."""

from __future__ import annotations

from typing import Any

from .shape import Shape
from .table import define, np


def _cat(*xs: Any, dim: int) -> Any:
    return np.concatenate([x for x in xs if x.shape != (0,)] or xs[:1], dim)


def _cat_grad(F: Any, g: Any, n: Any) -> Any:
    dim, start, out = n.params["dim"], 0, []
    for size, edge in zip(n.params["sizes"], n.edges, strict=True):
        out.append(F.slice(g, dim=dim, start=start, stop=start + size) if edge else None)
        start += size
    return out


define("cat_sized", "CatBackward0", "*tensors", lambda *xs, dim, sizes: _cat(*xs, dim=dim), grad=_cat_grad)
define(
    "stack", "StackBackward0", "*tensors", lambda *xs, dim: np.stack(xs, dim),
    grad=lambda F, g, n: [
        F.select(g, dim=n.params["dim"], index=i) if edge else None for i, edge in enumerate(n.edges)
    ],
)  # fmt: skip


def _repeat(x: Any, sizes: Shape) -> Any:
    if len(sizes) < x.ndim:
        raise RuntimeError(f"repeat: {list(sizes)} has fewer dimensions than the tensor ({list(x.shape)})")
    return np.tile(x, sizes)


define("repeat", "RepeatBackward0", "self", _repeat,
       grad=lambda F, g, n: _fold(F, g, n.shape(0), n.params["sizes"]))  # fmt: skip


def _fold(F: Any, g: Any, shape: Shape, sizes: Shape) -> Any:
    lead = len(sizes) - len(shape)
    for _ in range(lead):
        g = F.sum_dim(g, dim=0)
    mixed: list[int] = []
    summed = []
    for times, size in zip(sizes[lead:], shape, strict=True):
        if times != 1:
            summed.append(len(mixed))
            mixed.append(times)
        mixed.append(size)
    g = F.reshape(g, shape=tuple(mixed))
    return F.sum_dim(g, dim=tuple(summed)) if summed else g


define("flip", "FlipBackward0", "self", lambda x, dims: np.flip(x, dims).copy() if x.ndim else x.copy(),
       grad=lambda F, g, n: F.flip(g, **n.params))  # fmt: skip
define("roll", "RollBackward0", "self", lambda x, shifts, dims: np.roll(x, shifts, dims),
       grad=lambda F, g, n: F.roll(g, shifts=tuple(-s for s in n.params["shifts"]), dims=n.params["dims"]))  # fmt: skip


def _triangle(x: Any, diagonal: int, which: str) -> Any:
    if x.ndim < 2:
        raise RuntimeError(f"{which}: input tensor must have at least 2 dimensions (got {list(x.shape)})")
    return getattr(np, which)(x, diagonal)


for _name in ("tril", "triu"):
    define(_name, f"{_name.capitalize()}Backward0", "self", lambda x, diagonal=0, _f=_name: _triangle(x, diagonal, _f),
           grad=lambda F, g, n, _f=_name: getattr(F, _f)(g, **n.params))  # fmt: skip
