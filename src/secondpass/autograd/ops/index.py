# SPDX-License-Identifier: BSD-3-Clause
"""Choosing by condition and by index."""

from __future__ import annotations

from typing import Any

from .pointwise import promote
from .table import define, np


def _where(c: Any, a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        a, b = promote(a, b)
    return np.where(c, a, b)


define(
    "where", "WhereBackward0", "condition self other", _where, "condition",
    self=lambda F, g, n, c: F.where(c, g, 0.0), other=lambda F, g, n, c: F.where(c, 0.0, g),
)  # fmt: skip


def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    x, mask = np.broadcast_arrays(x, mask)
    return np.where(mask, np.asarray(value, x.dtype), x)


define("masked_fill", "MaskedFillBackward0", "self mask", _masked_fill, "mask",
       self=lambda F, g, n, mask: F.masked_fill(g, mask, value=0.0))  # fmt: skip
define(
    "masked_fill_tensor", "MaskedFillBackward1", "self mask value", _masked_fill, "mask",
    self=lambda F, g, n, mask: F.masked_fill(g, mask, value=0.0),
    value=lambda F, g, n, mask: F.sum(F.masked_select(g, mask)),
)  # fmt: skip


def _masked_select(x: Any, mask: Any) -> Any:
    x, mask = np.broadcast_arrays(x, mask)
    return x[mask]


def _masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    x, mask = np.broadcast_arrays(x, mask)
    out = x.copy()
    out[mask] = source.reshape(-1)[: int(mask.sum())]
    return out


define(
    "masked_select", "MaskedSelectBackward0", "self mask", _masked_select, "self mask",
    self=lambda F, g, n, x, mask: F.masked_scatter(F.zeros_like(x), mask, g),
)  # fmt: skip
define(
    "masked_scatter", "MaskedScatterBackward0", "self mask source", _masked_scatter, "mask",
    self=lambda F, g, n, mask: F.masked_fill(g, mask, value=0.0),
    source=lambda F, g, n, mask: F.masked_select(g, mask),
)  # fmt: skip


def _scatter(x: Any, index: Any, src: Any, dim: int) -> Any:
    out = x.copy()
    if not out.ndim:
        return np.array(src, x.dtype)
    np.put_along_axis(out, index, _part(src, index) if isinstance(src, np.ndarray) else src, dim)
    return out


def _part(src: Any, index: Any) -> Any:
    return src if src.shape == index.shape or not src.ndim else src[tuple(slice(0, s) for s in index.shape)]


def _scatter_add(x: Any, index: Any, src: Any, dim: int) -> Any:
    out = x.copy()
    if not out.ndim:
        return out + src
    grid = list(np.indices(index.shape, sparse=True))
    grid[dim] = index
    np.add.at(out, tuple(grid), _part(src, index))
    return out


def _gather(x: Any, index: Any, dim: int) -> Any:
    if not x.ndim:
        return x.copy()
    grid = list(np.indices(index.shape, sparse=True))
    grid[dim] = index
    return x[tuple(grid)]


define(
    "gather", "GatherBackward0", "self index", _gather, "index self",
    self=lambda F, g, n, index, x: F.scatter_add(F.zeros_like(x), index, g, dim=n.params["dim"]),
)  # fmt: skip
define(
    "scatter", "ScatterBackward0", "self index src", _scatter, "index",
    self=lambda F, g, n, index: F.scatter_value(g, index, dim=n.params["dim"], value=0.0),
    src=lambda F, g, n, index: F.gather(g, index, dim=n.params["dim"]),
)  # fmt: skip
define(
    "scatter_value", "ScatterBackward1", "self index", lambda x, index, dim, value: _scatter(x, index, value, dim),
    "index", self=lambda F, g, n, index: F.scatter_value(g, index, dim=n.params["dim"], value=0.0),
)  # fmt: skip
define(
    "scatter_add", "ScatterAddBackward0", "self index src", _scatter_add, "index",
    self=lambda F, g, n, index: g, src=lambda F, g, n, index: F.gather(g, index, dim=n.params["dim"]),
)  # fmt: skip


def _index_add(x: Any, index: Any, source: Any, dim: int) -> Any:
    out = x.copy()
    np.add.at(out, (slice(None),) * (dim % x.ndim) + (index,), source)
    return out


def _index_select(x: Any, index: Any, dim: int) -> Any:
    if not x.ndim and index.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
    return np.take(x, index, dim) if x.ndim else x.copy()


define(
    "index_select", "IndexSelectBackward0", "self index", _index_select, "index",
    self=lambda F, g, n, index: F.index_add(F.new_zeros(g, shape=n.shape(0)), index, g, dim=n.params["dim"]),
)  # fmt: skip
define(
    "index_add", "IndexAddBackward0", "self index source", _index_add, {"index": "source", "source": "source"},
    self=lambda F, g, n, index, source: g,
    source=lambda F, g, n, index, source: F.expand(F.index_select(g, index, dim=n.params["dim"]), shape=n.shape(2)),
)  # fmt: skip


def _at(indices: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(slice(None) if i is None else i for i in indices)


def _index(x: Any, *indices: Any) -> Any:
    try:
        return np.ascontiguousarray(x[_at(indices)])
    except IndexError as error:
        raise IndexError(f"{error} (got indices for a tensor of shape {x.shape})") from None


def _index_put(x: Any, values: Any, *indices: Any, accumulate: bool = False) -> Any:
    out = x.copy()
    if accumulate:
        np.add.at(out, _at(indices), values)
    else:
        out[_at(indices)] = values
    return out


# A list of indices, None where a dimension is taken whole. See NOTE [ What a node saves ] 3.
define(
    "index", "IndexBackward0", "self *indices", _index, "indices",
    self=lambda F, g, n, ix: F.index_put_impl(F.new_zeros(g, shape=n.shape(0)), g, *ix, accumulate=True),
)  # fmt: skip


def _outside(F: Any, g: Any, n: Any, ix: list[Any]) -> Any:
    if n.params.get("accumulate"):
        return g
    return F.index_put(g, F.new_zeros(g, shape=()), *ix)


for _name, _node in (("index_put", "IndexPutBackward0"), ("index_put_impl", "IndexPutImplBackward0")):
    define(_name, _node, "self values *indices", _index_put, "indices", self=_outside,
           values=lambda F, g, n, ix: F.index(g, *ix))  # fmt: skip


def _take(w: Any, indices: Any, padding_idx: int = -1) -> Any:
    return w[indices]


def _embedding_dense(g: Any, indices: Any, rows: int, padding_idx: int = -1) -> Any:
    out = np.zeros((rows, g.shape[-1]), g.dtype)
    np.add.at(out, indices, g)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out


define(
    "embedding", "EmbeddingBackward0", "weight indices", _take, "indices",
    weight=lambda F, g, n, ix: F.embedding_dense_backward(g, ix, rows=n.shape(0)[0], **n.params),
)  # fmt: skip
define(
    "embedding_dense_backward", "EmbeddingDenseBackwardBackward0", "grad_output indices", _embedding_dense, "indices",
    grad_output=lambda F, g, n, ix: F.index(g, ix),
)  # fmt: skip


def _order(x: Any, k: int, dim: int, largest: bool, stable: bool = True) -> Any:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    rank = np.argsort(-x if largest else x, axis=dim, kind="stable")
    at = rank[(slice(None),) * (dim % x.ndim) + (slice(0, k),)]
    return np.take_along_axis(x, at, dim), at


for _name in ("sort", "topk"):
    define(
        _name, f"{_name.capitalize()}Backward0", "self", _order, "indices", outputs="result indices", several=True,
        integral=(1,),
        grad=lambda F, g, n, at: F.scatter(F.new_zeros(g[0], shape=n.shape(0)), at, g[0], dim=n.params["dim"]),
    )  # fmt: skip
