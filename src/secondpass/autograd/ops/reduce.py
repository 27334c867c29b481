# SPDX-License-Identifier: BSD-3-Clause
"""Reductions and scans."""

from __future__ import annotations

import math
from typing import Any

from .table import define, np

Dims = int | tuple[int, ...]


def axes(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Dimensions as sorted positions; an empty tuple means all of them, as in PyTorch."""
    chosen = (dim,) if isinstance(dim, int) else tuple(dim)
    return tuple(sorted(d % ndim for d in chosen)) if chosen and ndim else tuple(range(ndim))


def restore(F: Any, g: Any, n: Any, shape: tuple[int, ...]) -> Any:
    """Puts back the dimensions that a reduction removed."""
    if not n.params.get("keepdim", False) and shape:
        for d in axes(n.params["dim"], len(shape)):
            g = F.unsqueeze(g, dim=d)
    return g


def _spread(F: Any, g: Any, n: Any) -> Any:
    shape = n.shape(0)
    return F.expand(restore(F, g, n, shape), shape=shape)


def _count(n: Any) -> int:
    shape = n.shape(0)
    return math.prod(shape[d] for d in axes(n.params["dim"], len(shape)))


define("sum", "SumBackward0", "self", lambda x: x.sum(), grad=lambda F, g, n: F.expand(g, shape=n.shape(0)))
define(
    "sum_dim", "SumBackward1", "self", lambda x, dim, keepdim=False: x.sum(axes(dim, x.ndim), keepdims=keepdim),
    grad=_spread,
)  # fmt: skip
define(
    "mean", "MeanBackward0", "self", lambda x: x.mean(),
    grad=lambda F, g, n: F.div_scalar(F.expand(g, shape=n.shape(0)), value=max(math.prod(n.shape(0)), 1)),
)  # fmt: skip
define(
    "mean_dim", "MeanBackward1", "self", lambda x, dim, keepdim=False: x.mean(axes(dim, x.ndim), keepdims=keepdim),
    grad=lambda F, g, n: F.div_scalar(_spread(F, g, n), value=_count(n)),
)  # fmt: skip


def _prod_grad(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    if n.params:
        g, r = restore(F, g, n, n.shape(0)), restore(F, r, n, n.shape(0))
    return F.mul(g, F.div(r, x)) if n.shape(0) else g


define("prod", "ProdBackward0", "self", lambda x: x.prod(), "self result", grad=_prod_grad)
define("prod_dim", "ProdBackward1", "self", lambda x, dim, keepdim=False: x.prod(dim, keepdims=keepdim), "self result",
       grad=_prod_grad)  # fmt: skip


def _shared(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    mask = F.eq(x, r)
    return F.masked_fill_tensor(F.zeros_like(x), mask, F.div(g, F.sum(mask)))


define("max", "MaxBackward1", "self", lambda x: x.max(), "self result", grad=_shared)
define("min", "MinBackward1", "self", lambda x: x.min(), "self result", grad=_shared)


def _pick(best: str) -> Any:
    def value(x: Any, dim: int, keepdim: bool = False) -> Any:
        if x.ndim and not x.shape[dim]:
            raise IndexError(f"{best[3:]}(): Expected reduction dim {dim} to have non-zero size.")
        at = np.expand_dims(getattr(np, best)(x, dim), dim) if x.ndim else np.zeros((), np.int64)
        top = np.take_along_axis(x, at, dim) if x.ndim else x.copy()
        return (top, at) if keepdim or not x.ndim else (top.squeeze(dim), at.squeeze(dim))

    return value


def _pick_grad(F: Any, g: Any, n: Any, at: Any) -> Any:
    dim, shape = n.params["dim"], n.shape(0)
    grad = restore(F, g[0], n, shape)
    return F.scatter(F.new_zeros(grad, shape=shape), restore(F, at, n, shape), grad, dim=dim % max(len(shape), 1))


for _name, _best in (("max", "argmax"), ("min", "argmin")):
    define(f"{_name}_dim", f"{_name.capitalize()}Backward0", "self", _pick(_best), "indices",
           outputs="result indices", several=True, integral=(1,), grad=_pick_grad)  # fmt: skip
    define(_best, "", "self", lambda x, dim=None, keepdim=False, _f=_best: getattr(np, _f)(x, dim, keepdims=keepdim))


def _amax_grad(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    shape = n.shape(0)
    kept = axes(n.params["dim"], len(shape))
    full = tuple(1 if d in kept else s for d, s in enumerate(shape))
    if not n.params.get("keepdim", False):
        g, r = F.view(g, shape=full), F.view(r, shape=full)
    mask = F.eq(r, x)
    return F.mul(F.div(g, F.sum_dim(mask, dim=kept, keepdim=True)), mask)


for _name in ("amax", "amin"):
    define(_name, f"{_name.capitalize()}Backward0", "self",
           lambda x, dim=(), keepdim=False, _f=_name: getattr(np, _f)(x, axes(dim, x.ndim), keepdims=keepdim),
           "self result", grad=_amax_grad)  # fmt: skip


def _var(x: Any, dim: Dims | None = None, keepdim: bool = False, correction: float = 1) -> Any:
    axis = None if dim is None else axes(dim, x.ndim)
    with np.errstate(all="ignore"):
        return x.var(axis, ddof=correction, keepdims=keepdim)


def _var_grad(F: Any, g: Any, n: Any, x: Any) -> Any:
    p = n.params
    if p.get("dim") is None:
        count, centre = math.prod(n.shape(0)), F.mean(x)
    else:
        g = restore(F, g, n, n.shape(0)) if len(n.shape(0)) > 1 else g
        count, centre = _count(n), F.mean_dim(x, dim=p["dim"], keepdim=True)
    free = count - p.get("correction", 1)
    return F.mul(F.mul_scalar(g, value=2.0 / free if free else math.inf), F.sub(x, centre))


define("var", "VarBackward0", "self", _var, "self", grad=_var_grad)
define(
    "std", "StdBackward0", "self", lambda x, **p: np.sqrt(_var(x, **p)), "self result",
    grad=lambda F, g, n, x, r: _var_grad(
        F, F.masked_fill(F.div(g, F.mul_scalar(r, value=2)), F.eq(r, 0.0), value=0.0), n, x
    ),
)  # fmt: skip


def _norm(x: Any, p: float = 2, dim: Dims | None = None, keepdim: bool = False) -> Any:
    axis = None if dim is None else axes(dim, x.ndim)
    return np.abs(x).sum(axis, keepdims=keepdim) if p == 1 else np.sqrt((x * x).sum(axis, keepdims=keepdim))


def _norm_grad(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    if n.params.get("dim") is not None:
        g, r = restore(F, g, n, n.shape(0)), restore(F, r, n, n.shape(0))
    if n.params.get("p", 2) == 1:
        return F.mul(F.sgn(x), g)
    return F.mul(g, F.masked_fill(F.div(x, r), F.eq(r, 0.0), value=0.0))


define("vector_norm", "LinalgVectorNormBackward0", "self", _norm, "self result", grad=_norm_grad)


def _logsumexp(x: Any, dim: Dims, keepdim: bool = False) -> Any:
    axis = axes(dim, x.ndim)
    top = x.max(axis, keepdims=True)
    out = np.log(np.exp(x - top).sum(axis, keepdims=True)) + top
    return out if keepdim else out.squeeze(axis)


define(
    "logsumexp", "LogsumexpBackward0", "self", _logsumexp, "self result",
    grad=lambda F, g, n, x, r: F.mul(
        restore(F, g, n, n.shape(0)), F.exp(F.sub(x, restore(F, r, n, n.shape(0))))
    ),
)  # fmt: skip


def _cumsum_grad(F: Any, g: Any, n: Any) -> Any:
    dim = n.params["dim"]
    return F.flip(F.cumsum(F.flip(g, dims=(dim,)), dim=dim), dims=(dim,)) if n.shape(0) else g


define("cumsum", "CumsumBackward0", "self", lambda x, dim: x.cumsum(dim) if x.ndim else x.copy(), grad=_cumsum_grad)
define("all", "", "self", lambda x, dim=None: x.all(dim))
define("any", "", "self", lambda x, dim=None: x.any(dim))
