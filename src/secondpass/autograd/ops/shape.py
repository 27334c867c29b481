# SPDX-License-Identifier: BSD-3-Clause
"""Views, parts, joins and copies.

NOTE [ Strides ]
1. Strides and offsets are counted in elements, as PyTorch does; `offset` counts from the start of the memory.
2. `as_strided` looks at the whole memory behind an array, not at the part that the array shows.
"""

from __future__ import annotations

from typing import Any

from .pointwise import nothing, same
from .reduce import axis, sum_to
from .table import define, np

# A table: rows, and the formulas that they share.
# fmt: off

Shape = tuple[int, ...]

def memory(x: Any) -> Any:
    """The array that owns the memory."""
    while x.base is not None and isinstance(x.base, np.ndarray):
        x = x.base
    return x

def address(x: Any) -> int:
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

def _as_strided(x: Any, size: Shape, stride: Shape, offset: int) -> Any:
    item = x.itemsize
    return np.ndarray(size, x.dtype, memory(x), offset * item, tuple(s * item for s in stride))

def _as_strided_grad(F: Any, g: Any, n: Any) -> Any:
    size, stride, offset = n.layout
    if 0 in n.size or 0 in size:
        return F.new_zeros(g, size)
    kept = [d for d, (length, step) in enumerate(zip(n.size, n.stride, strict=True)) if length != 1 and step]
    for d in reversed(range(len(n.size))):
        if d not in kept:  # an element that was shown several times gets the sum of what they get
            g = F.squeeze_dim(g, d) if n.size[d] == 1 else F.sum_dim(g, d)
    mine, step = tuple(n.size[d] for d in kept), tuple(n.stride[d] for d in kept)
    low = min(offset, n.offset)
    end = max(offset + extent(size, stride), n.offset + extent(mine, step))
    storage = F.new_zeros(g, (end - low + 1,))
    F.copy_(F.as_strided(storage, mine, step, n.offset - low), g)
    return F.as_strided(storage, size, stride, offset - low)

def view(x: Any, shape: Shape) -> Any:
    """A reshape that shares memory, or RuntimeError."""
    out = x.reshape(shape)
    if not x.flags.c_contiguous and x.size and address(x) != address(out):
        raise RuntimeError(f"a view of shape {list(shape)} is not compatible with the strides: use reshape() instead.")
    return out

def _t(x: Any) -> Any:
    if x.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return x.T

def _transpose(x: Any, dim0: int, dim1: int) -> Any:
    a, b = axis(dim0, x.ndim), axis(dim1, x.ndim)
    return x.swapaxes(a, b) if x.ndim else x.view()

def _permute_back(F: Any, g: Any, n: Any) -> Any:
    order = [d % len(n.dims) for d in n.dims]
    return F.permute(g, tuple(order.index(i) for i in range(len(order))))

def _expand(x: Any, shape: Shape) -> Any:
    if x.shape == shape:
        return x.view()
    lead = len(shape) - x.ndim
    if lead < 0 or any(a not in (b, 1) for a, b in zip(x.shape, shape[lead:], strict=True)):
        raise RuntimeError(f"the sizes {list(shape)} must match {list(x.shape)} where those are not 1")
    owner = memory(x)
    if not owner.flags.writeable:
        return np.broadcast_to(x, shape)
    repeated = (0 if a == 1 != b else s for a, b, s in zip(x.shape, shape[lead:], x.strides, strict=True))
    return np.ndarray(shape, x.dtype, owner, address(x) - address(owner), (0,) * lead + tuple(repeated))

def _unsqueeze(x: Any, dim: int) -> Any:
    d = dim % (x.ndim + 1)
    return x.reshape((*x.shape[:d], 1, *x.shape[d:]))

def _squeeze(x: Any, dim: int) -> Any:
    if not x.ndim or x.shape[dim] != 1:
        return x.view()
    d = dim % x.ndim
    return x.reshape(x.shape[:d] + x.shape[d + 1 :])

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

def _select(x: Any, dim: int, index: int) -> Any:
    if not -x.shape[dim] <= index < x.shape[dim]:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {x.shape[dim]}")
    part = slice(index, index + 1) if index != -1 else slice(-1, None)
    return x[at(dim, x.ndim, part)].squeeze(dim % x.ndim)

def _slice(x: Any, dim: int, start: int, stop: int, step: int = 1) -> Any:
    return x[at(dim, x.ndim, slice(start, stop, step))]

def _split(x: Any, sizes: Shape, dim: int) -> Any:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return tuple(_slice(x, dim, e - s, e) for s, e in zip(sizes, ends, strict=True))

def _join(F: Any, gs: list[Any], n: Any) -> Any:
    dim, some, shape = n.dim, next(g for g in gs if g is not None), n.shapes[0]
    parts = [
        F.new_zeros(some, (*shape[:dim], size, *shape[dim + 1 :])) if g is None else g
        for g, size in zip(gs, n.sizes, strict=True)
    ]
    return F.cat(*parts, dim=dim)

def _unbind(x: Any, dim: int = 0) -> Any:
    if not x.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(_select(x, dim, i) for i in range(x.shape[dim]))

def _restack(F: Any, gs: list[Any], n: Any) -> Any:
    some = next(g for g in gs if g is not None)
    return F.stack(*(F.zeros_like(some) if g is None else g for g in gs), dim=n.dim)

# --- joins and copies
def _cat_grad(F: Any, g: Any, n: Any) -> Any:
    start, out = 0, []
    for shape, edge in zip(n.shapes, n.edges, strict=True):
        size = 0 if shape == (0,) else shape[n.dim]
        out.append(F.slice(g, n.dim, start, start + size) if edge else None)
        start += size
    return out

def _filled(g: Any, shape: Shape, dim: int, part: Any) -> Any:
    out = np.zeros(shape, g.dtype)
    out[at(dim, len(shape), part)] = g
    return out

def _triangle(which: str) -> Any:
    def value(x: Any, diagonal: int = 0) -> Any:
        if x.ndim < 2:
            raise RuntimeError(f"{which}: input tensor must have at least 2 dimensions (got {list(x.shape)})")
        return getattr(np, which)(x, diagonal)

    return value

def _copy(x: Any, src: Any) -> Any:
    x[...] = src
    return x

def _reshape(F: Any, g: Any, n: Any) -> Any:
    return F.reshape(g, n.shapes[0])

define("as_strided", "AsStridedBackward0", "self", _as_strided, view=True, grad=_as_strided_grad,
       notes=lambda x: {"layout": layout(x)})
define("view", "ViewBackward0", "self", view, view=True, grad=_reshape)
define("reshape_alias", "ReshapeAliasBackward0", "self", view, view=True, grad=_reshape)
define("unsafe_view", "UnsafeViewBackward0", "self", view, grad=_reshape)
define("alias", "AliasBackward0", "self", lambda x: x.view(), view=True, grad=same)
define("t", "TBackward0", "self", _t, view=True, grad=lambda F, g, n: F.t(g))
define("transpose", "TransposeBackward0", "self", _transpose, view=True, grad=lambda F, g, n: F.transpose(g, n.dim0, n.dim1))
define("permute", "PermuteBackward0", "self", lambda x, dims: x.transpose(dims), view=True, grad=_permute_back)
define("expand", "ExpandBackward0", "self", _expand, view=True, grad=lambda F, g, n: sum_to(F, g, n.shapes[0]))
define("unsqueeze", "UnsqueezeBackward0", "self", _unsqueeze, view=True, grad=lambda F, g, n: F.squeeze_dim(g, n.dim))
define("squeeze", "SqueezeBackward0", "self", lambda x: x.squeeze() if 1 in x.shape else x.view(), view=True, grad=_unsqueeze_to)
define("squeeze_dim", "SqueezeBackward1", "self", _squeeze, view=True, grad=_unsqueeze_to)
define("squeeze_", "SqueezeBackward4", "self", _squeeze, grad=_unsqueeze_to)
define("select", "SelectBackward0", "self", _select, view=True,
       grad=lambda F, g, n: F.select_backward(g, n.shapes[0], n.dim, n.index))
define("select_backward", "SelectBackwardBackward0", "grad_output", lambda g, shape, dim, index: _filled(g, shape, dim, index),
       grad=lambda F, g, n: F.select(g, n.dim, n.index))
define("slice", "SliceBackward0", "self", _slice, view=True,
       grad=lambda F, g, n: F.slice_backward(g, n.shapes[0], n.dim, n.start, n.stop, n.step))
define("slice_backward", "SliceBackwardBackward0", "grad_output",
       lambda g, shape, dim, start, stop, step: _filled(g, shape, dim, slice(start, stop, step)),
       grad=lambda F, g, n: F.slice(g, n.dim, n.start, n.stop, n.step))
define("split", "SplitBackward0", "self", _split, view=True, several=True, grad=_join)
define("split_with_sizes", "SplitWithSizesBackward0", "self", _split, view=True, several=True, grad=_join)
define("unsafe_split", "UnsafeSplitBackward0", "self", _split, several=True, grad=_join)
define("unbind", "UnbindBackward0", "self", _unbind, view=True, several=True, grad=_restack)
define("cat", "CatBackward0", "*tensors", lambda *xs, dim=0: np.concatenate([x for x in xs if x.shape != (0,)] or xs[:1], dim),
       grad=_cat_grad)
define("stack", "StackBackward0", "*tensors", lambda *xs, dim=0: np.stack(xs, dim),
       grad=lambda F, g, n: [F.select(g, n.dim, i) if edge else None for i, edge in enumerate(n.edges)])
define("flip", "FlipBackward0", "self", lambda x, dims: np.flip(x, dims).copy() if x.ndim else x.copy(),
       grad=lambda F, g, n: F.flip(g, n.dims))
define("roll", "RollBackward0", "self", lambda x, shifts, dims=None: np.roll(x, shifts, dims),
       grad=lambda F, g, n: F.roll(g, tuple(-s for s in np.atleast_1d(n.shifts)), n.dims))
define("tril", "TrilBackward0", "self", _triangle("tril"), grad=lambda F, g, n: F.tril(g, n.diagonal))
define("triu", "TriuBackward0", "self", _triangle("triu"), grad=lambda F, g, n: F.triu(g, n.diagonal))
define("clone", "CloneBackward0", "self", lambda x: x.copy("K"), grad=same)
define("contiguous", "CloneBackward0", "self", lambda x: x.copy("C"), grad=same)
define("to_copy", "ToCopyBackward0", "self", lambda x, dtype: x.astype(dtype),
       grad=lambda F, g, n: F.to_copy(g, n.edges[0][0].meta[n.edges[0][1]][1]))
define("new_zeros", "", "self", lambda x, shape: np.zeros(shape, x.dtype))
# In place only: `copy_` writes over everything, so nothing flows to what was there.
define("copy_", "torch::autograd::CopyBackwards", "self src", _copy, self=nothing, src=same)
define("fill", "FillBackward2", "self", lambda x, value: np.full_like(x, value), grad=nothing)
define("fill_tensor", "FillBackward3", "self value", lambda x, value: np.full_like(x, value),
       self=nothing, value=lambda F, g, n: F.sum(g))
define("zero", "ZeroBackward0", "self", lambda x: np.zeros_like(x), grad=nothing)
