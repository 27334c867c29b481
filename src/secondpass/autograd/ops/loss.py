# SPDX-License-Identifier: BSD-3-Clause
"""Soft maxima, losses and layer normalisation: operations that PyTorch fuses."""

from __future__ import annotations

import math
from typing import Any

from .pointwise import real
from .table import define, np


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


def _rows(F: Any, x: Any, n: Any) -> Any:
    return F.sum_dim(x, dim=n.params["dim"], keepdim=True)


def _softmax_twice(F: Any, g: Any, n: Any, gg: Any, y: Any) -> Any:
    first = F.sub(F.mul(gg, g), F.mul(_rows(F, F.mul(y, gg), n), g))
    return F.sub(first, F.mul(gg, _rows(F, F.mul(y, g), n)))


def _log_softmax_twice(F: Any, g: Any, n: Any, gg: Any, y: Any) -> Any:
    z = F.exp(y)
    return F.mul(F.mul(z, _rows(F, gg, n)), F.sub(_rows(F, F.mul(g, z), n), g))


define("softmax", "SoftmaxBackward0", "self", _softmax, "result",
       grad=lambda F, g, n, y: F.softmax_backward(g, y, **n.params))  # fmt: skip
define(
    "softmax_backward", "SoftmaxBackwardDataBackward0", "grad_output output",
    lambda g, y, dim: (g - (g * y).sum(dim, keepdims=True)) * y, "grad_output output",
    grad_output=lambda F, g, n, gg, y: F.softmax_backward(g, y, **n.params), output=_softmax_twice,
)  # fmt: skip
define("log_softmax", "LogSoftmaxBackward0", "self", _log_softmax, "result",
       grad=lambda F, g, n, y: F.log_softmax_backward(g, y, **n.params))  # fmt: skip
define(
    "log_softmax_backward", "LogSoftmaxBackwardDataBackward0", "grad_output output",
    lambda g, y, dim: g - np.exp(y) * g.sum(dim, keepdims=True), "grad_output output",
    grad_output=lambda F, g, n, gg, y: F.sub(g, _rows(F, F.mul(g, F.exp(y)), n)), output=_log_softmax_twice,
)  # fmt: skip


# Losses. `reduction` is "none", "sum" or "mean".
def _reduce(x: Any, reduction: str) -> Any:
    return x if reduction == "none" else x.sum() if reduction == "sum" else x.mean()


def _scaled(g: Any, x: Any, reduction: str) -> Any:
    return g / x.size if reduction == "mean" else g


def _per_item(F: Any, n: Any, x: Any) -> Any:
    how = n.params["reduction"]
    return F.div_scalar(x, value=max(math.prod(n.shape(1)), 1)) if how == "mean" else x


def _total(F: Any, n: Any, x: Any) -> Any:
    how = n.params["reduction"]
    return x if how == "none" else F.sum(x) if how == "sum" else F.mean(x)


def _pairwise(name: str, node: str, value: Any, slope: Any, first: Any, second: Any) -> None:
    """A loss of self - target: `slope` its derivative, `first` and `second` the same over F."""

    def twice(F: Any, g: Any, n: Any, gg: Any, x: Any, y: Any) -> Any:
        return _per_item(F, n, F.mul(F.mul(g, gg), second(F, x, y)))

    define(
        name, f"{node}Backward0", "self target",
        lambda x, y, reduction="mean": _reduce(value(x - y), reduction), "self target",
        self=lambda F, g, n, x, y: getattr(F, f"{name}_backward")(g, x, y, **n.params),
        target=lambda F, g, n, x, y: getattr(F, f"{name}_backward")(g, y, x, **n.params),
    )  # fmt: skip
    define(
        f"{name}_backward", f"{node}BackwardBackward0", "grad_output self target",
        lambda g, x, y, reduction: _scaled(g, x, reduction) * slope(x - y), "grad_output self target",
        grad_output=lambda F, g, n, gg, x, y: _total(F, n, F.mul(g, first(F, x, y))),
        self=twice, target=lambda F, g, n, gg, x, y: F.neg(twice(F, g, n, gg, x, y)),
    )  # fmt: skip


_pairwise(
    "mse_loss", "MseLoss", lambda d: d * d, lambda d: 2 * d,
    lambda F, x, y: F.mul_scalar(F.sub(x, y), value=2.0), lambda F, x, y: F.mul_scalar(F.ones_like(x), value=2.0),
)  # fmt: skip
_pairwise(
    "smooth_l1_loss", "SmoothL1Loss",
    lambda d: np.where(np.abs(d) < 1, 0.5 * d * d, np.abs(d) - 0.5), lambda d: np.clip(d, -1, 1),
    lambda F, x, y: F.clamp(F.sub(x, y), min=-1.0, max=1.0), lambda F, x, y: F.lt(F.abs(F.sub(x, y)), 1.0),
)  # fmt: skip


def _bce(p: Any, t: Any, reduction: str = "mean") -> Any:
    with np.errstate(divide="ignore"):
        low, high = np.maximum(np.log(p), -100), np.maximum(np.log(1 - p), -100)
    return _reduce(-(t * low + (1 - t) * high), reduction)


def _bce_twice(F: Any, g: Any, n: Any, gg: Any, p: Any, t: Any) -> Any:
    q = F.mul(p, F.rsub(p, value=1.0))
    square = F.add(F.mul(F.sub(p, t), F.sub(p, t)), F.mul(t, F.rsub(t, value=1.0)))
    return _per_item(F, n, F.mul(F.mul(g, gg), F.div(square, F.mul(q, q))))


define(
    "binary_cross_entropy", "BinaryCrossEntropyBackward0", "self target", _bce, "self target",
    self=lambda F, g, n, p, t: F.binary_cross_entropy_backward(g, p, t, **n.params),
    target=lambda F, g, n, p, t: _per_item(F, n, F.mul(g, F.sub(F.log(F.rsub(p, value=1.0)), F.log(p)))),
)  # fmt: skip
define(
    "binary_cross_entropy_backward", "BinaryCrossEntropyBackwardBackward0", "grad_output self target",
    lambda g, p, t, reduction: _scaled(g, p, reduction) * (p - t) / np.maximum(p * (1 - p), 1e-12),
    "grad_output self target",
    grad_output=lambda F, g, n, gg, p, t: _total(
        F, n, F.mul(g, F.div(F.sub(p, t), F.mul(p, F.rsub(p, value=1.0))))
    ),
    self=_bce_twice,
    target=lambda F, g, n, gg, p, t: _per_item(
        F, n, F.div(F.neg(F.mul(g, gg)), F.mul(p, F.rsub(p, value=1.0)))
    ),
)  # fmt: skip


def _logits_grad(F: Any, g: Any, n: Any, x: Any, t: Any) -> Any:
    return _items(F, n, F.mul(F.sub(F.sigmoid(x), t), g))


def _items(F: Any, n: Any, x: Any) -> Any:
    return F.div_scalar(x, value=n.params["count"]) if n.params["reduction"] == "mean" else x


define(
    "bce_with_logits", "BinaryCrossEntropyWithLogitsBackward0", "self target",
    lambda x, t, reduction, count: _reduce(np.logaddexp(x, 0) - x * t, reduction), "self target",
    self=_logits_grad, target=lambda F, g, n, x, t: _items(F, n, F.mul(F.neg(x), g)),
)  # fmt: skip


def _nll(x: Any, target: Any, reduction: str = "mean", ignore_index: int = -100) -> Any:
    rows, used = x.reshape(-1, x.shape[-1]), target.reshape(-1) != ignore_index
    picked = -rows[np.arange(len(rows)), np.where(used, target.reshape(-1), 0)] * used
    total = used.sum(dtype=x.dtype)
    if reduction == "none":
        return picked, np.zeros((), x.dtype)
    return np.asarray(picked.sum() / total if reduction == "mean" else picked.sum(), x.dtype), total


def _nll_backward(g: Any, x: Any, target: Any, total: Any, reduction: str, ignore_index: int) -> Any:
    out = np.zeros(x.shape, x.dtype)
    flat, used = target.reshape(-1), target.reshape(-1) != ignore_index
    scale = -g / total if reduction == "mean" else -g
    out[np.arange(len(flat)), np.where(used, flat, 0)] = scale * used
    return out


define(
    "nll_loss", "NllLossBackward0", "self target", _nll, "self target total_weight", outputs="result total_weight",
    several=True, integral=(1,),
    self=lambda F, g, n, x, t, w: F.nll_loss_backward(g[0], x, t, w, **n.params),
)  # fmt: skip
define(
    "nll_loss_backward", "NllLossBackwardBackward0", "grad_output self target total_weight", _nll_backward, "target",
    grad_output=lambda F, g, n, t: F.nll_loss(g, t, **n.params)[0], self=lambda F, g, n, t: F.zeros_like(g),
)  # fmt: skip


# Layer normalisation over the last `ndim` dimensions
def _layer_norm(x: Any, weight: Any, bias: Any, ndim: int, eps: float) -> Any:
    axis = tuple(range(x.ndim - ndim, x.ndim))
    mean = x.mean(axis, keepdims=True)
    rstd = 1 / np.sqrt(x.var(axis, keepdims=True) + eps)
    out = (x - mean) * rstd
    if weight is not None:
        out = out * weight
    return (out if bias is None else out + bias), mean, rstd


def _layer_norm_backward(g: Any, x: Any, mean: Any, rstd: Any, weight: Any, bias: Any, ndim: int, eps: float) -> Any:
    axis, lead = tuple(range(x.ndim - ndim, x.ndim)), tuple(range(x.ndim - ndim))
    hat = (x - mean) * rstd
    gw = g if weight is None else g * weight
    dx = rstd * (gw - gw.mean(axis, keepdims=True) - hat * (gw * hat).mean(axis, keepdims=True))
    return dx, (g * hat).sum(lead), g.sum(lead)


def _layer_norm_grad(F: Any, gs: list[Any], n: Any, bias: Any, x: Any, mean: Any, rstd: Any, weight: Any) -> Any:
    return F.native_layer_norm_backward(gs[0], x, mean, rstd, weight, bias, **n.params)


def _layer_norm_twice(F: Any, gs: list[Any], n: Any, g: Any, x: Any, mean: Any, rstd: Any, weight: Any) -> Any:
    ndim = len(n.shape(1))
    axis, lead = tuple(range(ndim - n.params["ndim"], ndim)), tuple(range(ndim - n.params["ndim"]))
    a = F.zeros_like(x) if gs[0] is None else gs[0]

    def centre(v: Any) -> Any:
        return F.mean_dim(v, dim=axis, keepdim=True)

    # The saved statistics have no history, and the next order needs it: form them again.
    mean = centre(x)
    rstd = F.rsqrt(F.add_scalar(centre(F.pow(F.sub(x, mean), exponent=2)), value=n.params["eps"]))
    hat = F.mul(F.sub(x, mean), rstd)
    gw = g if weight is None else F.mul(g, weight)

    def project(v: Any) -> Any:
        return F.mul(rstd, F.sub(F.sub(v, centre(v)), F.mul(hat, centre(F.mul(v, hat)))))

    turned = project(a)
    dg = turned if weight is None else F.mul(turned, weight)
    q = F.neg(F.mul(rstd, F.add(F.mul(a, centre(F.mul(gw, hat))), F.mul(gw, centre(F.mul(a, hat))))))
    if gs[1] is not None and weight is not None:
        dg, q = F.add(dg, F.mul(gs[1], hat)), F.add(q, F.mul(gs[1], g))
    if gs[2] is not None and n.edges[5] is not None:
        dg = F.add(dg, gs[2])
    s = F.sub(F.sub(centre(F.mul(a, gw)), F.mul(centre(a), centre(gw))),
              F.mul(centre(F.mul(a, hat)), centre(F.mul(gw, hat))))  # fmt: skip
    dx = F.sub(project(q), F.mul(F.mul(s, F.mul(rstd, rstd)), hat))
    dw = None if weight is None else F.sum_dim(F.mul(g, turned), dim=lead) if lead else F.mul(g, turned)
    return [dg, dx, None, None, dw, None]


define(
    "native_layer_norm", "NativeLayerNormBackward0", "input weight bias", _layer_norm,
    "bias input result1 result2 weight", outputs="result result1 result2", several=True, integral=(1, 2),
    grad=_layer_norm_grad,
)  # fmt: skip
define(
    "native_layer_norm_backward", "NativeLayerNormBackwardBackward0", "grad_out input mean rstd weight bias",
    _layer_norm_backward, "grad_out input mean rstd weight", outputs="result0 result1 result2", several=True,
    grad=_layer_norm_twice,
)  # fmt: skip
