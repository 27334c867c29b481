# SPDX-License-Identifier: BSD-3-Clause
"""Choosing by condition and by index."""

from __future__ import annotations

from typing import Any

from .pointwise import promote, same
from .table import define, np

# A table: rows, and the formulas that they share.
# fmt: off

def _where(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        a, b = promote(a, b)
    return np.where(condition, a, b)

def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    x, mask = np.broadcast_arrays(x, mask)
    return np.where(mask, np.asarray(value, x.dtype), x)

def _outside(F: Any, g: Any, n: Any, mask: Any) -> Any:
    return F.masked_fill(g, mask, 0.0)

def _masked_select(x: Any, mask: Any) -> Any:
    x, mask = np.broadcast_arrays(x, mask)
    return x[mask]

def _masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    x, mask = np.broadcast_arrays(x, mask)
    out = x.copy()
    out[mask] = source.reshape(-1)[: int(mask.sum())]
    return out

def _along(index: Any, dim: int) -> tuple[Any, ...]:
    """An index along one dimension as an index of all."""
    grid = list(np.indices(index.shape, sparse=True))
    grid[dim] = index
    return tuple(grid)

def _part(src: Any, index: Any) -> Any:
    return src if not np.ndim(src) or src.shape == index.shape else src[tuple(slice(0, s) for s in index.shape)]

def _scatter(x: Any, index: Any, src: Any, dim: int) -> Any:
    if not x.ndim:
        return np.array(src, x.dtype)
    out = x.copy()
    np.put_along_axis(out, index, _part(src, index), dim)
    return out

def _scatter_add(x: Any, index: Any, src: Any, dim: int) -> Any:
    if not x.ndim:
        return x + src
    out = x.copy()
    np.add.at(out, _along(index, dim), _part(src, index))
    return out

# A list of indices has None where a dimension is taken whole: see NOTE [ What a node saves ] 3.
def _at(indices: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(slice(None) if i is None else i for i in indices)

def _index_put(x: Any, values: Any, *indices: Any, accumulate: bool = False) -> Any:
    out = x.copy()
    if accumulate:
        np.add.at(out, _at(indices), values)
    else:
        out[_at(indices)] = values
    return out

def _untouched(F: Any, g: Any, n: Any, indices: list[Any]) -> Any:
    return g if n.accumulate else F.index_put(g, F.new_zeros(g, ()), *indices)

def _embedding_dense(grad_output: Any, indices: Any, rows: int, padding_idx: int) -> Any:
    out = np.zeros((rows, grad_output.shape[-1]), grad_output.dtype)
    np.add.at(out, indices, grad_output)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out

define("where", "WhereBackward0", "condition self other", _where, "condition",
       self=lambda F, g, n, c: F.where(c, g, 0.0), other=lambda F, g, n, c: F.where(c, 0.0, g))
define("masked_fill", "MaskedFillBackward0", "self mask", _masked_fill, "mask", self=_outside)
define("masked_fill_tensor", "MaskedFillBackward1", "self mask value", _masked_fill, "mask", self=_outside,
       value=lambda F, g, n, mask: F.sum(F.masked_select(g, mask)))
define("masked_select", "MaskedSelectBackward0", "self mask", _masked_select, "self mask",
       self=lambda F, g, n, x, mask: F.masked_scatter(F.zeros_like(x), mask, g))
define("masked_scatter", "MaskedScatterBackward0", "self mask source", _masked_scatter, "mask", self=_outside,
       source=lambda F, g, n, mask: F.masked_select(g, mask))
define("gather", "GatherBackward0", "self index", lambda x, index, dim: x[_along(index, dim)] if x.ndim else x.copy(), "index self",
       self=lambda F, g, n, index, x: F.scatter_add(F.zeros_like(x), index, g, n.dim))
define("scatter", "ScatterBackward0", "self index src", _scatter, "index",
       self=lambda F, g, n, index: F.scatter_value(g, index, 0.0, n.dim), src=lambda F, g, n, index: F.gather(g, index, n.dim))
define("scatter_value", "ScatterBackward1", "self index", lambda x, index, value, dim: _scatter(x, index, value, dim), "index",
       self=lambda F, g, n, index: F.scatter_value(g, index, 0.0, n.dim))
define("scatter_add", "ScatterAddBackward0", "self index src", _scatter_add, "index", self=same,
       src=lambda F, g, n, index: F.gather(g, index, n.dim))
define("index", "IndexBackward0", "self *indices", lambda x, *indices: np.ascontiguousarray(x[_at(indices)]), "indices",
       self=lambda F, g, n, indices: F.index_put_impl(F.new_zeros(g, n.shapes[0]), g, *indices, accumulate=True))
define("index_put", "IndexPutBackward0", "self values *indices", _index_put, "indices", self=_untouched,
       values=lambda F, g, n, indices: F.index(g, *indices))
define("index_put_impl", "IndexPutImplBackward0", "self values *indices", _index_put, "indices", self=_untouched,
       values=lambda F, g, n, indices: F.index(g, *indices))
define("embedding", "EmbeddingBackward0", "weight indices", lambda w, indices, padding_idx: w[indices], "indices",
       weight=lambda F, g, n, ix: F.embedding_dense_backward(g, ix, n.shapes[0][0], n.padding_idx))
define("embedding_dense_backward", "EmbeddingDenseBackwardBackward0", "grad_output indices", _embedding_dense,
       "indices", grad_output=lambda F, g, n, ix: F.index(g, ix))
