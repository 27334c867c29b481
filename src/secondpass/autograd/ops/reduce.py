# SPDX-License-Identifier: BSD-3-Clause
"""Reductions and scans."""

from __future__ import annotations

import math
from typing import Any

from .table import define, np

# A table: rows, and the formulas that they share.
# fmt: off

Dims = int | tuple[int, ...] | list[int] | None

def axis(dim: int, ndim: int) -> int:
    """A dimension counted from the front; IndexError where there is none."""
    room = max(ndim, 1)
    if not -room <= dim < room:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-room}, {room - 1}], but got {dim})")
    return dim % room

def axes(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Dimensions as sorted positions; none, or an empty tuple, means all of them, as in PyTorch."""
    chosen = () if dim is None else (dim,) if isinstance(dim, int) else dim
    found = sorted(axis(d, ndim) for d in chosen)
    if len(set(found)) < len(found):
        raise RuntimeError(f"dim {max(found, key=found.count)} appears multiple times in the list of dims")
    return tuple(found) if found and ndim else tuple(range(ndim))

def sum_to(F: Any, g: Any, shape: tuple[int, ...]) -> Any:
    """Sums over the dimensions along which a shape was repeated."""
    mine = g.shape
    if not shape:
        return F.sum(g)
    lead = len(mine) - len(shape)
    dims = tuple(i for i, n in enumerate(mine) if i < lead or (shape[i - lead] == 1 and n != 1))
    if dims:
        g = F.sum_dim(g, dims, True)
    return F.view(g, tuple(shape)) if lead > 0 else g

def _restore(F: Any, g: Any, n: Any) -> Any:
    """Puts back the dimensions that a reduction removed."""
    shape = n.shapes[0]
    if not n.keepdim and shape:
        for d in axes(n.dim, len(shape)):
            g = F.unsqueeze(g, d)
    return g

def _spread(F: Any, g: Any, n: Any) -> Any:
    return F.expand(_restore(F, g, n), n.shapes[0])

def _count(n: Any) -> int:
    shape = n.shapes[0]
    return math.prod(shape[d] for d in axes(n.dim, len(shape)))

def _mean(x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    if x.dtype.kind != "f":
        raise RuntimeError(f"mean(): could not infer output dtype. Input dtype must be floating point (got {x.dtype})")
    return x.mean(axes(dim, x.ndim), keepdims=keepdim)

def _prod_grad(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    if n.params:
        g, r = _restore(F, g, n), _restore(F, r, n)
    return g * (r / x) if n.shapes[0] else g

def _shared(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    mask = x == r
    return F.masked_fill_tensor(F.zeros_like(x), mask, g / F.sum(mask))

def _pick(x: Any, best: str, dim: int, keepdim: bool) -> Any:
    if x.ndim and not x.shape[dim]:
        raise IndexError(f"{best[3:]}(): Expected reduction dim {dim} to have non-zero size.")
    at = np.expand_dims(getattr(np, best)(x, dim), dim) if x.ndim else np.zeros((), np.int64)
    top = np.take_along_axis(x, at, dim) if x.ndim else x.copy()
    return (top, at) if keepdim or not x.ndim else (top.squeeze(dim), at.squeeze(dim))

def _pick_grad(F: Any, g: Any, n: Any, at: Any) -> Any:
    grad, shape = _restore(F, g[0], n), n.shapes[0]
    return F.scatter(F.new_zeros(grad, shape), _restore(F, at, n), grad, n.dim % max(len(shape), 1))

def _extreme_grad(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    kept = axes(n.dim, len(n.shapes[0]))
    full = tuple(1 if d in kept else s for d, s in enumerate(n.shapes[0]))
    if not n.keepdim:
        g, r = F.view(g, full), F.view(r, full)
    mask = r == x
    return g / F.sum_dim(mask, kept, True) * mask

def _var(x: Any, dim: Dims = None, keepdim: bool = False, correction: float = 1) -> Any:
    with np.errstate(all="ignore"):
        return x.var(axes(dim, x.ndim), ddof=correction, keepdims=keepdim)

def _std(x: Any, dim: Dims = None, keepdim: bool = False, correction: float = 1) -> Any:
    return np.sqrt(_var(x, dim, keepdim, correction))

def _var_grad(F: Any, g: Any, n: Any, x: Any) -> Any:
    if n.dim is not None:
        g = _restore(F, g, n) if len(n.shapes[0]) > 1 else g
    centre = F.mean(x) if n.dim is None else F.mean_dim(x, n.dim, True)
    free = _count(n) - n.correction
    return F.mul_scalar(g, 2.0 / free if free else math.inf) * (x - centre)

def _norm(x: Any, p: float = 2, dim: Dims = None, keepdim: bool = False) -> Any:
    axis = axes(dim, x.ndim)
    return np.abs(x).sum(axis, keepdims=keepdim) if p == 1 else np.sqrt((x * x).sum(axis, keepdims=keepdim))

def _norm_grad(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    if n.dim is not None:
        g, r = _restore(F, g, n), _restore(F, r, n)
    return F.sgn(x) * g if n.p == 1 else g * F.masked_fill(x / r, r == 0.0, 0.0)

define("sum", "SumBackward0", "self", lambda x: x.sum(), grad=lambda F, g, n: F.expand(g, n.shapes[0]))
define("sum_dim", "SumBackward1", "self", lambda x, dim, keepdim=False: x.sum(axes(dim, x.ndim), keepdims=keepdim), grad=_spread)
define("mean", "MeanBackward0", "self", lambda x: _mean(x),
       grad=lambda F, g, n: F.div_scalar(F.expand(g, n.shapes[0]), max(math.prod(n.shapes[0]), 1)))
define("mean_dim", "MeanBackward1", "self", lambda x, dim, keepdim=False: _mean(x, dim, keepdim),
       grad=lambda F, g, n: F.div_scalar(_spread(F, g, n), _count(n)))
define("prod", "ProdBackward0", "self", lambda x: x.prod(), "self result", grad=_prod_grad)
define("prod_dim", "ProdBackward1", "self", lambda x, dim, keepdim=False: x.prod(dim, keepdims=keepdim), "self result",
       grad=_prod_grad)
define("max", "MaxBackward1", "self", lambda x: x.max(), "self result", grad=_shared)
define("min", "MinBackward1", "self", lambda x: x.min(), "self result", grad=_shared)
define("max_dim", "MaxBackward0", "self", lambda x, dim, keepdim=False: _pick(x, "argmax", dim, keepdim), "indices",
       outputs="result indices", several=True, integral=(1,), grad=_pick_grad)
define("min_dim", "MinBackward0", "self", lambda x, dim, keepdim=False: _pick(x, "argmin", dim, keepdim), "indices",
       outputs="result indices", several=True, integral=(1,), grad=_pick_grad)
define("amax", "AmaxBackward0", "self", lambda x, dim=(), keepdim=False: x.max(axes(dim, x.ndim), keepdims=keepdim), "self result",
       grad=_extreme_grad)
define("amin", "AminBackward0", "self", lambda x, dim=(), keepdim=False: x.min(axes(dim, x.ndim), keepdims=keepdim), "self result",
       grad=_extreme_grad)
define("var", "VarBackward0", "self", _var, "self", grad=_var_grad)
define("std", "StdBackward0", "self", _std, "self result", grad=lambda F, g, n, x, r:
       _var_grad(F, F.masked_fill(g / F.mul_scalar(r, 2), r == 0.0, 0.0), n, x))
define("vector_norm", "LinalgVectorNormBackward0", "self", _norm, "self result", grad=_norm_grad)
define("cumsum", "CumsumBackward0", "self", lambda x, dim: x.cumsum(dim) if x.ndim else x.copy(), grad=lambda F, g, n:
       F.flip(F.cumsum(F.flip(g, (n.dim,)), n.dim), (n.dim,)) if n.shapes[0] else g)
define("argmax", "", "self", lambda x, dim=None, keepdim=False: x.argmax(dim, keepdims=keepdim))
define("argmin", "", "self", lambda x, dim=None, keepdim=False: x.argmin(dim, keepdims=keepdim))
define("all", "", "self", lambda x, dim=None: x.all(dim))
define("any", "", "self", lambda x, dim=None: x.any(dim))
