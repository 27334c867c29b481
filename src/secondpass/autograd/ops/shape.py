# SPDX-License-Identifier: BSD-3-Clause
"""Views and copies.

NOTE [ Strides ]
1. Strides and offsets are counted in elements, as PyTorch does; `offset` counts from the start of the memory.
2. `as_strided` looks at the whole memory behind an array, not at the part that the array shows.
"""

from __future__ import annotations

from typing import Any

from .table import define, np

Shape = tuple[int, ...]


def memory(x: Any) -> Any:
    """The array that owns the memory."""
    while x.base is not None and isinstance(x.base, np.ndarray):
        x = x.base
    return x


def layout(x: Any) -> tuple[Shape, Shape, int]:
    """Shape, strides and offset of an array in its memory."""
    size = x.itemsize
    start = x.__array_interface__["data"][0] - memory(x).__array_interface__["data"][0]
    return x.shape, tuple(s // size for s in x.strides), start // size


def _as_strided(x: Any, size: Shape, stride: Shape, offset: int) -> Any:
    item = x.itemsize
    return np.ndarray(size, x.dtype, memory(x), offset * item, tuple(s * item for s in stride))


def _as_strided_grad(F: Any, g: Any, n: Any) -> Any:
    p = n.params
    (size, stride, offset), (mine, step, start) = p["layout"], (p["size"], p["stride"], p["offset"])
    if 0 in mine or 0 in size:
        return F.new_zeros(g, shape=size)
    low = min(offset, start)
    ends = [o + sum((s - 1) * t for s, t in zip(a, b, strict=True)) for a, b, o in
            ((size, stride, offset), (mine, step, start))]  # fmt: skip
    storage = F.new_zeros(g, shape=(max(ends) - low + 1,))
    F.copy_(F.as_strided(storage, size=mine, stride=step, offset=start - low), g)
    return F.as_strided(storage, size=size, stride=stride, offset=offset - low)


define("as_strided", "AsStridedBackward0", "self", lambda x, size, stride, offset, layout=None:
       _as_strided(x, size, stride, offset), view=True, grad=_as_strided_grad)  # fmt: skip


def view(x: Any, shape: Shape) -> Any:
    """A reshape that shares memory, or RuntimeError."""
    try:
        out = x.reshape(shape)
    except ValueError:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {x.size}") from None
    if not x.flags.c_contiguous and x.size and not shares(x, out):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return out


def shares(x: Any, y: Any) -> bool:
    """Whether two arrays begin at the same place of memory."""
    return bool(x.__array_interface__["data"][0] == y.__array_interface__["data"][0])


define("view", "ViewBackward0", "self", view, view=True, grad=lambda F, g, n: F.reshape(g, shape=n.shape(0)))
define("reshape_alias", "ReshapeAliasBackward0", "self", view, view=True,
       grad=lambda F, g, n: F.reshape(g, shape=n.shape(0)))  # fmt: skip
define("unsafe_view", "UnsafeViewBackward0", "self", view, grad=lambda F, g, n: F.reshape(g, shape=n.shape(0)))
define("alias", "AliasBackward0", "self", lambda x: x.view(), view=True, grad=lambda F, g, n: g)
define("t", "TBackward0", "self", lambda x: x.T, view=True, grad=lambda F, g, n: F.t(g))


def _transpose(x: Any, dim0: int, dim1: int) -> Any:
    if not x.ndim and not {dim0, dim1} <= {0, -1}:
        raise IndexError(f"Dimension out of range (a tensor without dimensions has no {dim0} and {dim1})")
    return x.swapaxes(dim0, dim1) if x.ndim else x.view()


define(
    "transpose", "TransposeBackward0", "self", _transpose,
    view=True, grad=lambda F, g, n: F.transpose(g, **n.params),
)  # fmt: skip


def _inverse(dims: Shape) -> Shape:
    order = [d % len(dims) for d in dims]
    return tuple(order.index(i) for i in range(len(order)))


define(
    "permute", "PermuteBackward0", "self", lambda x, dims: x.transpose(dims), view=True,
    grad=lambda F, g, n: F.permute(g, dims=_inverse(n.params["dims"])),
)  # fmt: skip


def _expand(x: Any, shape: Shape) -> Any:
    if x.shape == shape:
        return x.view()
    lead = len(shape) - x.ndim
    if lead < 0 or any(a not in (b, 1) for a, b in zip(x.shape, shape[lead:], strict=True)):
        raise RuntimeError(
            f"The expanded size of the tensor {shape} must match the existing size {x.shape} "
            "at non-singleton dimensions."
        )
    strides = (0,) * lead + tuple(
        0 if a == 1 and b != 1 else s for a, b, s in zip(x.shape, shape[lead:], x.strides, strict=True)
    )
    owner = memory(x)
    start = x.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return np.ndarray(shape, x.dtype, owner, start, strides) if owner.flags.writeable else np.broadcast_to(x, shape)


define(
    "expand", "ExpandBackward0", "self", _expand, view=True,
    grad=lambda F, g, n: F.sum_to(g, shape=n.shape(0)),
)  # fmt: skip


def _unsqueeze(x: Any, dim: int) -> Any:
    d = dim % (x.ndim + 1)
    return x.reshape((*x.shape[:d], 1, *x.shape[d:]))


def _squeeze(x: Any, dim: int) -> Any:
    if not x.ndim or x.shape[dim] != 1:
        return x.view()
    d = dim % x.ndim
    return x.reshape(x.shape[:d] + x.shape[d + 1 :])


def _unsqueeze_to(F: Any, g: Any, n: Any) -> Any:
    shape = n.shape(0)
    if "dim" not in n.params:
        for d, size in enumerate(shape):
            g = F.unsqueeze(g, dim=d) if size == 1 else g
        return g
    d = n.params["dim"]
    return F.unsqueeze(g, dim=d % len(shape)) if shape and shape[d] == 1 else g


define("unsqueeze", "UnsqueezeBackward0", "self", _unsqueeze, view=True,
       grad=lambda F, g, n: F.squeeze_dim(g, dim=n.params["dim"]))  # fmt: skip
define("squeeze", "SqueezeBackward0", "self", lambda x: x.squeeze() if 1 in x.shape else x.view(), view=True,
       grad=_unsqueeze_to)  # fmt: skip
define("squeeze_dim", "SqueezeBackward1", "self", _squeeze, view=True, grad=_unsqueeze_to)
define("squeeze_", "SqueezeBackward4", "self", _squeeze, grad=_unsqueeze_to)


# Parts
def _cut(x: Any, dim: int, part: Any) -> Any:
    return x[(slice(None),) * (dim % x.ndim) + (part,)]


def _filled(g: Any, shape: Shape, dim: int, part: Any) -> Any:
    out = np.zeros(shape, g.dtype)
    out[(slice(None),) * (dim % len(shape)) + (part,)] = g
    return out


def _select(x: Any, dim: int, index: int) -> Any:
    if not -x.shape[dim] <= index < x.shape[dim]:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {x.shape[dim]}")
    return _cut(x, dim, (slice(index, index + 1) if index != -1 else slice(-1, None))).squeeze(dim % x.ndim)


define("select", "SelectBackward0", "self", _select, view=True,
       grad=lambda F, g, n: F.select_backward(g, shape=n.shape(0), **n.params))  # fmt: skip
define(
    "select_backward", "SelectBackwardBackward0", "grad_output",
    lambda g, shape, dim, index: _filled(g, shape, dim, index),
    grad=lambda F, g, n: F.select(g, dim=n.params["dim"], index=n.params["index"]),
)  # fmt: skip
define(
    "slice", "SliceBackward0", "self", lambda x, dim, start, stop, step=1: _cut(x, dim, slice(start, stop, step)),
    view=True, grad=lambda F, g, n: F.slice_backward(g, shape=n.shape(0), **n.params),
)  # fmt: skip
define(
    "slice_backward", "SliceBackwardBackward0", "grad_output",
    lambda g, shape, dim, start, stop, step=1: _filled(g, shape, dim, slice(start, stop, step)),
    grad=lambda F, g, n: F.slice(g, **{k: v for k, v in n.params.items() if k != "shape"}),
)  # fmt: skip


def _diagonal(x: Any) -> Any:
    if x.ndim < 2:
        raise IndexError(f"Dimension out of range: a diagonal needs two dimensions (got {list(x.shape)})")
    length = min(x.shape[:2])
    return np.einsum("ii...->...i", x[:length, :length])  # unlike np.diagonal, it can be written to


define("diagonal", "DiagonalBackward0", "self", _diagonal, view=True,
       grad=lambda F, g, n: F.diagonal_backward(g, shape=n.shape(0)))  # fmt: skip


def _on_diagonal(g: Any, shape: Shape) -> Any:
    out = np.zeros(shape, g.dtype)
    _diagonal(out)[...] = g
    return out


define("diagonal_backward", "DiagonalBackwardBackward0", "grad_output", _on_diagonal,
       grad=lambda F, g, n: F.diagonal(g))  # fmt: skip


def _split(x: Any, sizes: tuple[int, ...], dim: int) -> Any:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return tuple(_cut(x, dim, slice(e - s, e)) for s, e in zip(sizes, ends, strict=True))


def _join(F: Any, gs: list[Any], n: Any) -> Any:
    dim, some, shape = n.params["dim"], next(g for g in gs if g is not None), n.shape(0)
    parts = [
        F.new_zeros(some, shape=(*shape[:dim], size, *shape[dim + 1 :])) if g is None else g
        for g, size in zip(gs, n.params["sizes"], strict=True)
    ]
    return F.cat(*parts, dim=dim)


for _name, _node, _view in (
    ("split", "SplitBackward0", True),
    ("split_with_sizes", "SplitWithSizesBackward0", True),
    ("unsafe_split", "UnsafeSplitBackward0", False),
):
    define(_name, _node, "self", _split, view=_view, several=True, grad=_join)


def _restack(F: Any, gs: list[Any], n: Any) -> Any:
    some = next(g for g in gs if g is not None)
    return F.stack(*(F.zeros_like(some) if g is None else g for g in gs), dim=n.params["dim"])


define("unbind", "UnbindBackward0", "self", lambda x, dim: tuple(_select(x, dim, i) for i in range(x.shape[dim])),
       view=True, several=True, grad=_restack)  # fmt: skip


# Copies
define("clone", "CloneBackward0", "self", lambda x: x.copy("K"), grad=lambda F, g, n: g)
define("contiguous", "CloneBackward0", "self", lambda x: x.copy("C"), grad=lambda F, g, n: g)
define("to_copy", "ToCopyBackward0", "self", lambda x, dtype: x.astype(dtype),
       grad=lambda F, g, n: F.to_copy(g, dtype=n.dtype(0)))  # fmt: skip
define("new_zeros", "", "self", lambda x, shape: np.zeros(shape, x.dtype))


def _copy(x: Any, src: Any) -> Any:
    x[...] = src
    return x


# In place only: `copy_` writes over everything, so nothing flows to what was there.
define("copy_", "torch::autograd::CopyBackwards", "self src", _copy,
       self=lambda F, g, n: F.zeros_like(g), src=lambda F, g, n: g)  # fmt: skip
define("fill", "FillBackward2", "self", lambda x, value: np.full_like(x, value),
       grad=lambda F, g, n: F.zeros_like(g))  # fmt: skip
define("fill_tensor", "FillBackward3", "self value", lambda x, value: np.full_like(x, value),
       self=lambda F, g, n: F.zeros_like(g), value=lambda F, g, n: F.sum(g))  # fmt: skip
define("zero", "ZeroBackward0", "self", lambda x: np.zeros_like(x), grad=lambda F, g, n: F.zeros_like(g))
