# SPDX-License-Identifier: BSD-3-Clause
"""Reductions and scans."""

from __future__ import annotations

import math
from typing import Any

from .table import define, np

Dims = int | tuple[int, ...] | list[int] | None


def axes(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Dimensions as sorted positions; none, or an empty tuple, means all of them, as in PyTorch."""
    chosen = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    return tuple(sorted(d % ndim for d in chosen)) if chosen and ndim else tuple(range(ndim))


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


def _prod_grad(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    if n.params:
        g, r = _restore(F, g, n), _restore(F, r, n)
    return g * (r / x) if n.shapes[0] else g


def _shared(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    mask = x == r
    return F.masked_fill_tensor(F.zeros_like(x), mask, g / F.sum(mask))


def _pick(best: str) -> Any:
    def value(self: Any, dim: int, keepdim: bool = False) -> Any:
        if self.ndim and not self.shape[dim]:
            raise IndexError(f"{best[3:]}(): Expected reduction dim {dim} to have non-zero size.")
        at = np.expand_dims(getattr(np, best)(self, dim), dim) if self.ndim else np.zeros((), np.int64)
        top = np.take_along_axis(self, at, dim) if self.ndim else self.copy()
        return (top, at) if keepdim or not self.ndim else (top.squeeze(dim), at.squeeze(dim))

    return value


def _pick_grad(F: Any, g: Any, n: Any, at: Any) -> Any:
    grad, shape = _restore(F, g[0], n), n.shapes[0]
    return F.scatter(F.new_zeros(grad, shape), _restore(F, at, n), grad, n.dim % max(len(shape), 1))


def _place(best: str) -> Any:
    return lambda self, dim=None, keepdim=False: getattr(np, best)(self, dim, keepdims=keepdim)


def _extreme(best: str) -> Any:
    return lambda self, dim=(), keepdim=False: getattr(np, best)(self, axes(dim, self.ndim), keepdims=keepdim)


def _extreme_grad(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    kept = axes(n.dim, len(n.shapes[0]))
    full = tuple(1 if d in kept else s for d, s in enumerate(n.shapes[0]))
    if not n.keepdim:
        g, r = F.view(g, full), F.view(r, full)
    mask = r == x
    return g / F.sum_dim(mask, kept, True) * mask


def _var(self: Any, dim: Dims = None, keepdim: bool = False, correction: float = 1) -> Any:
    with np.errstate(all="ignore"):
        return self.var(axes(dim, self.ndim), ddof=correction, keepdims=keepdim)


def _std(self: Any, dim: Dims = None, keepdim: bool = False, correction: float = 1) -> Any:
    return np.sqrt(_var(self, dim, keepdim, correction))


def _var_grad(F: Any, g: Any, n: Any, x: Any) -> Any:
    if n.dim is None:
        centre = F.mean(x)
    else:
        g = _restore(F, g, n) if len(n.shapes[0]) > 1 else g
        centre = F.mean_dim(x, n.dim, True)
    free = _count(n) - n.correction
    return F.mul_scalar(g, 2.0 / free if free else math.inf) * (x - centre)


def _std_grad(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    return _var_grad(F, F.masked_fill(g / F.mul_scalar(r, 2), r == 0.0, 0.0), n, x)


def _norm(self: Any, p: float = 2, dim: Dims = None, keepdim: bool = False) -> Any:
    axis = axes(dim, self.ndim)
    return np.abs(self).sum(axis, keepdims=keepdim) if p == 1 else np.sqrt((self * self).sum(axis, keepdims=keepdim))


def _norm_grad(F: Any, g: Any, n: Any, x: Any, r: Any) -> Any:
    if n.dim is not None:
        g, r = _restore(F, g, n), _restore(F, r, n)
    return F.sgn(x) * g if n.p == 1 else g * F.masked_fill(x / r, r == 0.0, 0.0)


def _cumsum_grad(F: Any, g: Any, n: Any) -> Any:
    return F.flip(F.cumsum(F.flip(g, (n.dim,)), n.dim), (n.dim,)) if n.shapes[0] else g


# fmt: off
define("sum", "SumBackward0", "self", lambda self: self.sum(), grad=lambda F, g, n: F.expand(g, n.shapes[0]))
define("sum_dim", "SumBackward1", "self",
       lambda self, dim, keepdim=False: self.sum(axes(dim, self.ndim), keepdims=keepdim), grad=_spread)
define("mean", "MeanBackward0", "self", lambda self: self.mean(),
       grad=lambda F, g, n: F.div_scalar(F.expand(g, n.shapes[0]), max(math.prod(n.shapes[0]), 1)))
define("mean_dim", "MeanBackward1", "self",
       lambda self, dim, keepdim=False: self.mean(axes(dim, self.ndim), keepdims=keepdim),
       grad=lambda F, g, n: F.div_scalar(_spread(F, g, n), _count(n)))
define("prod", "ProdBackward0", "self", lambda self: self.prod(), "self result", grad=_prod_grad)
define("prod_dim", "ProdBackward1", "self", lambda self, dim, keepdim=False: self.prod(dim, keepdims=keepdim),
       "self result", grad=_prod_grad)
define("max", "MaxBackward1", "self", lambda self: self.max(), "self result", grad=_shared)
define("min", "MinBackward1", "self", lambda self: self.min(), "self result", grad=_shared)
define("max_dim", "MaxBackward0", "self", _pick("argmax"), "indices", outputs="result indices", several=True,
       integral=(1,), grad=_pick_grad)
define("min_dim", "MinBackward0", "self", _pick("argmin"), "indices", outputs="result indices", several=True,
       integral=(1,), grad=_pick_grad)
define("amax", "AmaxBackward0", "self", _extreme("amax"), "self result", grad=_extreme_grad)
define("amin", "AminBackward0", "self", _extreme("amin"), "self result", grad=_extreme_grad)
define("var", "VarBackward0", "self", _var, "self", grad=_var_grad)
define("std", "StdBackward0", "self", _std, "self result", grad=_std_grad)
define("vector_norm", "LinalgVectorNormBackward0", "self", _norm, "self result", grad=_norm_grad)
define("cumsum", "CumsumBackward0", "self", lambda self, dim: self.cumsum(dim) if self.ndim else self.copy(),
       grad=_cumsum_grad)
define("argmax", "", "self", _place("argmax"))
define("argmin", "", "self", _place("argmin"))
define("all", "", "self", lambda self, dim=None: self.all(dim))
define("any", "", "self", lambda self, dim=None: self.any(dim))
