# SPDX-License-Identifier: BSD-3-Clause
"""Views, parts, joins and copies.

NOTE [ Strides ]
1. Strides and offsets are counted in elements, as PyTorch does; `offset` counts from the start of the memory.
2. `as_strided` looks at the whole memory behind an array, not at the part that the array shows.
"""

from __future__ import annotations

from typing import Any

from .pointwise import nothing, same
from .reduce import sum_to
from .table import define, np

Shape = tuple[int, ...]


def memory(x: Any) -> Any:
    """The array that owns the memory."""
    while x.base is not None and isinstance(x.base, np.ndarray):
        x = x.base
    return x


def address(x: Any) -> int:
    """Where an array begins."""
    return int(x.__array_interface__["data"][0])


def layout(x: Any) -> tuple[Shape, Shape, int]:
    """Shape, strides and offset of an array in its memory."""
    size = x.itemsize
    return x.shape, tuple(s // size for s in x.strides), (address(x) - address(memory(x))) // size


def extent(size: Shape, stride: Shape) -> int:
    """How many elements lie between the first and the last."""
    return sum((n - 1) * s for n, s in zip(size, stride, strict=True))


def empty_strided(x: Any, size: Shape, stride: Shape) -> Any:
    """New memory of an array's type in a given layout."""
    return _as_strided(np.empty(0 if 0 in size else 1 + extent(size, stride), x.dtype), size, stride, 0)


def _as_strided(self: Any, size: Shape, stride: Shape, offset: int) -> Any:
    item = self.itemsize
    return np.ndarray(size, self.dtype, memory(self), offset * item, tuple(s * item for s in stride))


def _as_strided_grad(F: Any, g: Any, n: Any) -> Any:
    size, stride, offset = n.layout
    if 0 in n.size or 0 in size:
        return F.new_zeros(g, size)
    low = min(offset, n.offset)
    end = max(offset + extent(size, stride), n.offset + extent(n.size, n.stride))
    storage = F.new_zeros(g, (end - low + 1,))
    F.copy_(F.as_strided(storage, n.size, n.stride, n.offset - low), g)
    return F.as_strided(storage, size, stride, offset - low)


def view(self: Any, shape: Shape) -> Any:
    """A reshape that shares memory, or RuntimeError."""
    try:
        out = self.reshape(shape)
    except ValueError:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {self.size}") from None
    if not self.flags.c_contiguous and self.size and address(self) != address(out):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return out


def _t(self: Any) -> Any:
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T


def _transpose(self: Any, dim0: int, dim1: int) -> Any:
    if not self.ndim and not {dim0, dim1} <= {0, -1}:
        raise IndexError(f"Dimension out of range (a tensor without dimensions has no {dim0} and {dim1})")
    return self.swapaxes(dim0, dim1) if self.ndim else self.view()


def _permute_back(F: Any, g: Any, n: Any) -> Any:
    order = [d % len(n.dims) for d in n.dims]
    return F.permute(g, tuple(order.index(i) for i in range(len(order))))


def _expand(self: Any, shape: Shape) -> Any:
    if self.shape == shape:
        return self.view()
    lead = len(shape) - self.ndim
    if lead < 0 or any(a not in (b, 1) for a, b in zip(self.shape, shape[lead:], strict=True)):
        raise RuntimeError(
            f"The expanded size of the tensor {shape} must match the existing size {self.shape} "
            "at non-singleton dimensions."
        )
    owner = memory(self)
    if not owner.flags.writeable:
        return np.broadcast_to(self, shape)
    repeated = (0 if a == 1 != b else s for a, b, s in zip(self.shape, shape[lead:], self.strides, strict=True))
    return np.ndarray(shape, self.dtype, owner, address(self) - address(owner), (0,) * lead + tuple(repeated))


def _unsqueeze(self: Any, dim: int) -> Any:
    d = dim % (self.ndim + 1)
    return self.reshape((*self.shape[:d], 1, *self.shape[d:]))


def _squeeze(self: Any, dim: int) -> Any:
    if not self.ndim or self.shape[dim] != 1:
        return self.view()
    d = dim % self.ndim
    return self.reshape(self.shape[:d] + self.shape[d + 1 :])


def _unsqueeze_to(F: Any, g: Any, n: Any) -> Any:
    shape = n.shapes[0]
    if "dim" in n.params:
        return F.unsqueeze(g, n.dim % len(shape)) if shape and shape[n.dim] == 1 else g
    for d, size in enumerate(shape):
        g = F.unsqueeze(g, d) if size == 1 else g
    return g


# --- parts
def at(dim: int, ndim: int, part: Any) -> tuple[Any, ...]:
    """The index of a part of one dimension."""
    return (slice(None),) * (dim % ndim) + (part,)


def _filled(g: Any, shape: Shape, dim: int, part: Any) -> Any:
    out = np.zeros(shape, g.dtype)
    out[at(dim, len(shape), part)] = g
    return out


def _select(self: Any, dim: int, index: int) -> Any:
    if not -self.shape[dim] <= index < self.shape[dim]:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {self.shape[dim]}")
    part = slice(index, index + 1) if index != -1 else slice(-1, None)
    return self[at(dim, self.ndim, part)].squeeze(dim % self.ndim)


def _slice(self: Any, dim: int, start: int, stop: int, step: int = 1) -> Any:
    return self[at(dim, self.ndim, slice(start, stop, step))]


def _split(self: Any, sizes: Shape, dim: int) -> Any:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return tuple(_slice(self, dim, e - s, e) for s, e in zip(sizes, ends, strict=True))


def _join(F: Any, gs: list[Any], n: Any) -> Any:
    dim, some, shape = n.dim, next(g for g in gs if g is not None), n.shapes[0]
    parts = [
        F.new_zeros(some, (*shape[:dim], size, *shape[dim + 1 :])) if g is None else g
        for g, size in zip(gs, n.sizes, strict=True)
    ]
    return F.cat(*parts, dim=dim)


def _unbind(self: Any, dim: int = 0) -> Any:
    if not self.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(_select(self, dim, i) for i in range(self.shape[dim]))


def _restack(F: Any, gs: list[Any], n: Any) -> Any:
    some = next(g for g in gs if g is not None)
    return F.stack(*(F.zeros_like(some) if g is None else g for g in gs), dim=n.dim)


# --- joins
def _cat(*tensors: Any, dim: int = 0) -> Any:
    some = [x for x in tensors if x.shape != (0,)] or tensors[:1]
    if len({x.ndim for x in some}) > 1 or not all(x.ndim for x in tensors):
        raise RuntimeError(f"Tensors must have the same number of dimensions (got {[list(x.shape) for x in tensors]})")
    return np.concatenate(some, dim)


def _cat_grad(F: Any, g: Any, n: Any) -> Any:
    start, out = 0, []
    for shape, edge in zip(n.shapes, n.edges, strict=True):
        size = 0 if shape == (0,) else shape[n.dim]
        out.append(F.slice(g, n.dim, start, start + size) if edge else None)
        start += size
    return out


def _stack_grad(F: Any, g: Any, n: Any) -> Any:
    return [F.select(g, n.dim, i) if edge else None for i, edge in enumerate(n.edges)]


# --- copies
def _triangle(which: str) -> Any:
    def value(self: Any, diagonal: int = 0) -> Any:
        if self.ndim < 2:
            raise RuntimeError(f"{which}: input tensor must have at least 2 dimensions (got {list(self.shape)})")
        return getattr(np, which)(self, diagonal)

    return value


def _roll(self: Any, shifts: Any, dims: Any) -> Any:
    return np.roll(self, shifts, dims)


def _roll_back(F: Any, g: Any, n: Any) -> Any:
    return F.roll(g, -n.shifts if isinstance(n.shifts, int) else tuple(-s for s in n.shifts), n.dims)


def _copy(self: Any, src: Any) -> Any:
    self[...] = src
    return self


def _reshape(F: Any, g: Any, n: Any) -> Any:
    return F.reshape(g, n.shapes[0])


# fmt: off
define("as_strided", "AsStridedBackward0", "self", _as_strided, view=True, grad=_as_strided_grad,
       notes=lambda self: {"layout": layout(self)})
define("view", "ViewBackward0", "self", view, view=True, grad=_reshape)
define("reshape_alias", "ReshapeAliasBackward0", "self", view, view=True, grad=_reshape)
define("unsafe_view", "UnsafeViewBackward0", "self", view, grad=_reshape)
define("alias", "AliasBackward0", "self", lambda self: self.view(), view=True, grad=same)
define("t", "TBackward0", "self", _t, view=True, grad=lambda F, g, n: F.t(g))
define("transpose", "TransposeBackward0", "self", _transpose, view=True,
       grad=lambda F, g, n: F.transpose(g, n.dim0, n.dim1))
define("permute", "PermuteBackward0", "self", lambda self, dims: self.transpose(dims), view=True, grad=_permute_back)
define("expand", "ExpandBackward0", "self", _expand, view=True, grad=lambda F, g, n: sum_to(F, g, n.shapes[0]))
define("unsqueeze", "UnsqueezeBackward0", "self", _unsqueeze, view=True,
       grad=lambda F, g, n: F.squeeze_dim(g, n.dim))
define("squeeze", "SqueezeBackward0", "self", lambda self: self.squeeze() if 1 in self.shape else self.view(),
       view=True, grad=_unsqueeze_to)
define("squeeze_dim", "SqueezeBackward1", "self", _squeeze, view=True, grad=_unsqueeze_to)
define("squeeze_", "SqueezeBackward4", "self", _squeeze, grad=_unsqueeze_to)
define("select", "SelectBackward0", "self", _select, view=True,
       grad=lambda F, g, n: F.select_backward(g, n.shapes[0], n.dim, n.index))
define("select_backward", "SelectBackwardBackward0", "grad_output",
       lambda grad_output, shape, dim, index: _filled(grad_output, shape, dim, index),
       grad=lambda F, g, n: F.select(g, n.dim, n.index))
define("slice", "SliceBackward0", "self", _slice, view=True,
       grad=lambda F, g, n: F.slice_backward(g, n.shapes[0], n.dim, n.start, n.stop, n.step))
define("slice_backward", "SliceBackwardBackward0", "grad_output",
       lambda grad_output, shape, dim, start, stop, step: _filled(grad_output, shape, dim, slice(start, stop, step)),
       grad=lambda F, g, n: F.slice(g, n.dim, n.start, n.stop, n.step))
define("split", "SplitBackward0", "self", _split, view=True, several=True, grad=_join)
define("split_with_sizes", "SplitWithSizesBackward0", "self", _split, view=True, several=True, grad=_join)
define("unsafe_split", "UnsafeSplitBackward0", "self", _split, several=True, grad=_join)
define("unbind", "UnbindBackward0", "self", _unbind, view=True, several=True, grad=_restack)
define("cat", "CatBackward0", "*tensors", _cat, grad=_cat_grad)
define("stack", "StackBackward0", "*tensors", lambda *tensors, dim=0: np.stack(tensors, dim), grad=_stack_grad)
define("flip", "FlipBackward0", "self", lambda self, dims: np.flip(self, dims).copy() if self.ndim else self.copy(),
       grad=lambda F, g, n: F.flip(g, n.dims))
define("roll", "RollBackward0", "self", _roll, grad=_roll_back)
define("tril", "TrilBackward0", "self", _triangle("tril"), grad=lambda F, g, n: F.tril(g, n.diagonal))
define("triu", "TriuBackward0", "self", _triangle("triu"), grad=lambda F, g, n: F.triu(g, n.diagonal))
define("clone", "CloneBackward0", "self", lambda self: self.copy("K"), grad=same)
define("contiguous", "CloneBackward0", "self", lambda self: self.copy("C"), grad=same)
define("to_copy", "ToCopyBackward0", "self", lambda self, dtype: self.astype(dtype),
       grad=lambda F, g, n: F.to_copy(g, n.edges[0][0].meta[n.edges[0][1]][1]))
define("new_zeros", "", "self", lambda self, shape: np.zeros(shape, self.dtype))
# In place only: `copy_` writes over everything, so nothing flows to what was there.
define("copy_", "torch::autograd::CopyBackwards", "self src", _copy, self=nothing, src=same)
define("fill", "FillBackward2", "self", lambda self, value: np.full_like(self, value), grad=nothing)
define("fill_tensor", "FillBackward3", "self value", lambda self, value: np.full_like(self, value),
       self=nothing, value=lambda F, g, n: F.sum(g))
define("zero", "ZeroBackward0", "self", lambda self: np.zeros_like(self), grad=nothing)
