# SPDX-License-Identifier: BSD-3-Clause
"""Soft maxima, losses and layer normalisation: operations that PyTorch fuses. `reduction` is none, sum or mean."""

from __future__ import annotations

import math
from typing import Any

from .pointwise import nothing, real
from .table import define, np

# A table: rows, and the formulas that they share.
# fmt: off

# --- soft maxima
def _softmax(x: Any, dim: int) -> Any:
    x = real(x)
    if not x.size:
        return x.copy()
    e = np.exp(x - x.max(dim, keepdims=True))
    e /= e.sum(dim, keepdims=True)
    return e

def _log_softmax(x: Any, dim: int) -> Any:
    if not x.size:
        return x.copy()
    x = x - x.max(dim, keepdims=True)
    x -= np.log(np.exp(x).sum(dim, keepdims=True))
    return x

def _softmax_twice(F: Any, g: Any, n: Any, gg: Any, y: Any) -> Any:
    return gg * g - F.sum_dim(y * gg, n.dim, True) * g - gg * F.sum_dim(y * g, n.dim, True)

def _log_softmax_twice(F: Any, g: Any, n: Any, gg: Any, y: Any) -> Any:
    z = F.exp(y)
    return z * F.sum_dim(gg, n.dim, True) * (F.sum_dim(g * z, n.dim, True) - g)

# --- losses: over arrays, then over F
def _reduce(x: Any, reduction: str) -> Any:
    return x if reduction == "none" else x.sum() if reduction == "sum" else x.mean()

def _scaled(g: Any, x: Any, reduction: str) -> Any:
    return g / x.size if reduction == "mean" else g

def _per_item(F: Any, n: Any, x: Any) -> Any:
    return F.div_scalar(x, max(math.prod(n.shapes[1]), 1)) if n.reduction == "mean" else x

def _total(F: Any, n: Any, x: Any) -> Any:
    return x if n.reduction == "none" else F.sum(x) if n.reduction == "sum" else F.mean(x)

def _pairwise(name: str, node: str, value: Any, slope: Any, first: Any, second: Any) -> None:
    """A loss of self - target: `slope` its derivative, `first` and `second` the derivatives over F."""

    def twice(F: Any, g: Any, n: Any, gg: Any, x: Any, y: Any) -> Any:
        return _per_item(F, n, g * gg * second(F, x, y))

    back = f"{name}_backward"
    define(
        name, f"{node}Backward0", "self target",
        lambda x, y, reduction="mean": _reduce(value(x - y), reduction), "self target",
        self=lambda F, g, n, x, y: getattr(F, back)(g, x, y, n.reduction),
        target=lambda F, g, n, x, y: getattr(F, back)(g, y, x, n.reduction),
    )
    define(
        back, f"{node}BackwardBackward0", "grad_output self target",
        lambda g, x, y, reduction: _scaled(g, x, reduction) * slope(x - y), "grad_output self target",
        grad_output=lambda F, g, n, gg, x, y: _total(F, n, g * first(F, x, y)),
        self=twice, target=lambda F, g, n, gg, x, y: -twice(F, g, n, gg, x, y),
    )

def _bce(x: Any, target: Any, reduction: str = "mean") -> Any:
    with np.errstate(divide="ignore"):
        low, high = np.maximum(np.log(x), -100), np.maximum(np.log(1 - x), -100)
    return _reduce(-(target * low + (1 - target) * high), reduction)

def _rest(F: Any, p: Any) -> Any:
    return p * F.rsub(p, 1.0)

def _bce_twice(F: Any, g: Any, n: Any, gg: Any, p: Any, t: Any) -> Any:
    q, apart = _rest(F, p), p - t
    return _per_item(F, n, g * gg * ((apart * apart + _rest(F, t)) / (q * q)))

def _nll(x: Any, target: Any, reduction: str = "mean", ignore_index: int = -100) -> Any:
    used = target != ignore_index
    picked = -x[np.arange(len(x)), np.where(used, target, 0)] * used
    total = used.sum(dtype=x.dtype)
    if reduction == "none":
        return picked, np.zeros((), x.dtype)
    return np.asarray(picked.sum() / total if reduction == "mean" else picked.sum(), x.dtype), total

def _nll_backward(grad_output: Any, x: Any, target: Any, total_weight: Any, reduction: str, ignore: int) -> Any:
    out, used = np.zeros(x.shape, x.dtype), target != ignore
    scale = -grad_output / total_weight if reduction == "mean" else -grad_output
    out[np.arange(len(x)), np.where(used, target, 0)] = scale * used
    return out

# --- layer normalisation over the last `ndim` dimensions
def _layer_norm(input: Any, weight: Any, bias: Any, ndim: int, eps: float) -> Any:
    axis = tuple(range(input.ndim - ndim, input.ndim))
    mean = input.mean(axis, keepdims=True)
    rstd = 1 / np.sqrt(input.var(axis, keepdims=True) + eps)
    out = (input - mean) * rstd
    if weight is not None:
        out = out * weight
    return (out if bias is None else out + bias), mean, rstd

def _layer_norm_backward(
    grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, bias: Any, ndim: int, eps: float
) -> Any:
    axis, lead = tuple(range(input.ndim - ndim, input.ndim)), tuple(range(input.ndim - ndim))
    hat = (input - mean) * rstd
    gw = grad_out if weight is None else grad_out * weight
    dx = rstd * (gw - gw.mean(axis, keepdims=True) - hat * (gw * hat).mean(axis, keepdims=True))
    return dx, (grad_out * hat).sum(lead), grad_out.sum(lead)

def _layer_norm_twice(F: Any, gs: list[Any], n: Any, g: Any, x: Any, mean: Any, rstd: Any, weight: Any) -> Any:
    ndim = len(n.shapes[1])
    axis, lead = tuple(range(ndim - n.ndim, ndim)), tuple(range(ndim - n.ndim))
    a = F.zeros_like(x) if gs[0] is None else gs[0]

    def centre(v: Any) -> Any:
        return F.mean_dim(v, axis, True)

    # The saved statistics have no history, and the next order needs it: form them again.
    mean = centre(x)
    rstd = F.rsqrt(F.add_scalar(centre(F.pow(x - mean, 2)), n.eps))
    hat = (x - mean) * rstd
    gw = g if weight is None else g * weight

    def project(v: Any) -> Any:
        return rstd * (v - centre(v) - hat * centre(v * hat))

    turned = project(a)
    dg = turned if weight is None else turned * weight
    q = -(rstd * (a * centre(gw * hat) + gw * centre(a * hat)))
    if gs[1] is not None and weight is not None:
        dg, q = dg + gs[1] * hat, q + gs[1] * g
    if gs[2] is not None and n.edges[5] is not None:
        dg = dg + gs[2]
    s = centre(a * gw) - centre(a) * centre(gw) - centre(a * hat) * centre(gw * hat)
    dx = project(q) - s * (rstd * rstd) * hat
    dw = None if weight is None else F.sum_dim(g * turned, lead) if lead else g * turned
    return [dg, dx, None, None, dw, None]

define("softmax", "SoftmaxBackward0", "self", _softmax, "result", grad=lambda F, g, n, y: F.softmax_backward(g, y, n.dim))
define("softmax_backward", "SoftmaxBackwardDataBackward0", "grad_output output",
       lambda g, y, dim: (g - (g * y).sum(dim, keepdims=True)) * y, "grad_output output",
       grad_output=lambda F, g, n, gg, y: F.softmax_backward(g, y, n.dim), output=_softmax_twice)
define("log_softmax", "LogSoftmaxBackward0", "self", _log_softmax, "result",
       grad=lambda F, g, n, y: F.log_softmax_backward(g, y, n.dim))
define("log_softmax_backward", "LogSoftmaxBackwardDataBackward0", "grad_output output",
       lambda g, y, dim: g - np.exp(y) * g.sum(dim, keepdims=True), "grad_output output",
       grad_output=lambda F, g, n, gg, y: g - F.sum_dim(g * F.exp(y), n.dim, True), output=_log_softmax_twice)
_pairwise("mse_loss", "MseLoss", lambda d: d * d, lambda d: 2 * d,
          lambda F, x, y: F.mul_scalar(x - y, 2.0), lambda F, x, y: F.mul_scalar(F.ones_like(x), 2.0))
_pairwise("smooth_l1_loss", "SmoothL1Loss", lambda d: np.where(np.abs(d) < 1, 0.5 * d * d, np.abs(d) - 0.5),
          lambda d: np.clip(d, -1, 1), lambda F, x, y: F.clamp(x - y, -1.0, 1.0), lambda F, x, y: F.abs(x - y) < 1.0)
define("binary_cross_entropy", "BinaryCrossEntropyBackward0", "self target", _bce, "self target",
       self=lambda F, g, n, p, t: F.binary_cross_entropy_backward(g, p, t, n.reduction),
       target=lambda F, g, n, p, t: _per_item(F, n, g * (F.log(F.rsub(p, 1.0)) - F.log(p))))
define("binary_cross_entropy_backward", "BinaryCrossEntropyBackwardBackward0", "grad_output self target",
       lambda g, p, t, reduction: _scaled(g, p, reduction) * (p - t) / np.maximum(p * (1 - p), 1e-12), "grad_output self target",
       grad_output=lambda F, g, n, gg, p, t: _total(F, n, g * ((p - t) / _rest(F, p))), self=_bce_twice,
       target=lambda F, g, n, gg, p, t: _per_item(F, n, -(g * gg) / _rest(F, p)))
define("bce_with_logits", "BinaryCrossEntropyWithLogitsBackward0", "self target",
       lambda x, y, reduction="mean": _reduce(np.logaddexp(x, 0) - x * y, reduction), "self target",
       self=lambda F, g, n, x, t: _per_item(F, n, (F.sigmoid(x) - t) * g), target=lambda F, g, n, x, t: _per_item(F, n, -x * g))
define("nll_loss", "NllLossBackward0", "self target", _nll, "self target total_weight", outputs="result total_weight", several=True,
       integral=(1,), self=lambda F, g, n, x, t, w: F.nll_loss_backward(g[0], x, t, w, n.reduction, n.ignore_index))
define("nll_loss_backward", "NllLossBackwardBackward0", "grad_output self target total_weight", _nll_backward,
       "target", grad_output=lambda F, g, n, t: F.nll_loss(g, t, n.reduction, n.ignore)[0], self=nothing)
define("native_layer_norm", "NativeLayerNormBackward0", "input weight bias", _layer_norm, "bias input result1 result2 weight",
       outputs="result result1 result2", several=True, integral=(1, 2),
       grad=lambda F, g, n, bias, x, mean, rstd, weight: F.native_layer_norm_backward( g[0], x, mean, rstd, weight, bias, n.ndim, n.eps))
define("native_layer_norm_backward", "NativeLayerNormBackwardBackward0", "grad_out input mean rstd weight bias", _layer_norm_backward,
       "grad_out input mean rstd weight", outputs="result0 result1 result2", several=True, grad=_layer_norm_twice)
