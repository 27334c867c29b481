# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic, comparison and activations, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .table import define, np

# A table: rows, and the formulas that they share.
# fmt: off

__all__ = ["nothing", "promote", "real", "same"]

_RANK = {"b": 0, "i": 1, "u": 1, "f": 2}

def real(x: Any) -> Any:
    """Integers become floats where only floats make sense."""
    return x if x.dtype.kind == "f" else x.astype(np.float32)

def promote(a: Any, b: Any) -> tuple[Any, Any]:
    """Brings two arrays to one type: PyTorch lets an array with dimensions win over one without, NumPy does not."""
    x, y = a.dtype, b.dtype
    if x == y:
        return a, b
    p, q = _RANK[x.kind], _RANK[y.kind]
    if p == q and (a.ndim == 0) != (b.ndim == 0):
        kind = y if a.ndim == 0 else x
    elif p != q and 2 in (p, q):
        kind = x if p > q else y
    else:
        kind = np.promote_types(x, y)
    return a.astype(kind, copy=False), b.astype(kind, copy=False)

def _unary(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(np, name)(x)

def _float(name: str) -> Callable[[Any], Any]:
    """A function of floats that does not warn: infinities and NaNs are answers, too."""

    def value(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return getattr(np, name)(real(x))

    return value

def _binary(name: str) -> Callable[[Any, Any], Any]:
    def value(a: Any, b: Any) -> Any:
        if a.dtype is not b.dtype:
            a, b = promote(a, b)
        return getattr(np, name)(a, b)

    return value

def _add(a: Any, b: Any, alpha: float = 1) -> Any:
    if a.dtype is not b.dtype:
        a, b = promote(a, b)
    return np.logical_or(a, b) if a.dtype.kind == "b" else np.add(a, b if alpha == 1 else np.multiply(b, alpha))

def _sub(a: Any, b: Any, alpha: float = 1) -> Any:
    a, b = promote(a, b)
    return np.subtract(a, b if alpha == 1 else np.multiply(b, alpha))

def _div(a: Any, b: Any) -> Any:
    a, b = promote(a, b)
    with np.errstate(all="ignore"):
        return np.true_divide(real(a), real(b))

def _power(a: Any, exponent: Any) -> Any:
    if isinstance(exponent, np.ndarray):
        a, exponent = promote(a, exponent)
    with np.errstate(all="ignore"):
        return np.square(a) if not np.ndim(exponent) and exponent == 2 else np.power(a, exponent)

def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return np.clip(x, min, max)

def _sigmoid(x: Any) -> Any:
    # tanh never overflows, and one call serves both signs.
    return 0.5 * np.tanh(0.5 * real(x)) + 0.5

def _density(x: Any) -> Any:
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)

def _cdf(x: Any) -> Any:
    return 0.5 * (1 + np.fromiter(map(math.erf, (x / math.sqrt(2)).ravel().tolist()), x.dtype, x.size).reshape(x.shape))

# --- derivatives
def same(F: Any, g: Any, n: Any, *saved: Any) -> Any:
    """The gradient as it is."""
    return g

def nothing(F: Any, g: Any, n: Any, *saved: Any) -> Any:
    """A constant's derivative."""
    return F.zeros_like(g)

def _scaled(F: Any, g: Any, n: Any) -> Any:
    return g if n.alpha == 1 else F.mul_scalar(g, n.alpha)

def _better(F: Any, g: Any, mine: Any, other: Any, worse: Any) -> Any:
    """The gradient where mine was taken, half of it where both are the same."""
    return F.masked_fill(F.where(mine == other, F.div_scalar(g, 2), g), worse, 0.0)

def _inside(F: Any, g: Any, n: Any, x: Any) -> Any:
    low, high = n.params.get("min"), n.params.get("max")
    mask = x >= low if low is not None else x <= high
    return F.where(F.logical_and(mask, x <= high) if low is not None and high is not None else mask, g, 0.0)

def _silu_grad(F: Any, g: Any, n: Any, x: Any) -> Any:
    s = F.sigmoid(x)
    return g * s * F.add_scalar(x * F.sub(np.asarray(1.0), s), 1)

# --- tensor with tensor (Python's operators wrap numbers as tensors)
define("add", "AddBackward0", "self other", _add, self=same, other=_scaled)
define("sub", "SubBackward0", "self other", _sub, self=same, other=lambda F, g, n: _scaled(F, -g, n))
define("mul", "MulBackward0", "self other", _binary("multiply"), {"other": "self", "self": "other"},
       self=lambda F, g, n, b, a: g * b, other=lambda F, g, n, b, a: g * a)
define("div", "DivBackward0", "self other", _div, {"other": "", "self": "other"},
       self=lambda F, g, n, b, a: g / b, other=lambda F, g, n, b, a: -g * (a / b / b))
define("pow_tensor", "PowBackward1", "self exponent", _power, "exponent result self",
       self=lambda F, g, n, e, r, x: F.where(e == 0.0, F.zeros_like(g), g * (e * F.pow_tensor(x, F.sub_scalar(e, 1.0)))),
       exponent=lambda F, g, n, e, r, x: g * F.where(F.logical_and(x == 0.0, e >= 0.0), F.zeros_like(g), r * F.log(x)))
define("maximum", "MaximumBackward0", "self other", _binary("maximum"), "other self",
       self=lambda F, g, n, b, a: _better(F, g, a, b, a < b), other=lambda F, g, n, b, a: _better(F, g, b, a, b < a))
define("minimum", "MinimumBackward0", "self other", _binary("minimum"), "other self",
       self=lambda F, g, n, b, a: _better(F, g, a, b, a > b), other=lambda F, g, n, b, a: _better(F, g, b, a, b > a))
define("lerp", "LerpBackward0", "self end", lambda a, b, weight: a + weight * (b - a),
       self=lambda F, g, n: F.mul_scalar(g, 1 - n.weight), end=lambda F, g, n: F.mul_scalar(g, n.weight))

# --- tensor with number, as PyTorch's own formulas do it: nothing is saved
define("add_scalar", "AddBackward1", "self", lambda x, value: x + value, grad=same)
define("sub_scalar", "SubBackward1", "self", lambda x, value: x - value, grad=same)
define("rsub", "RsubBackward1", "self", lambda x, value: np.subtract(value, x), grad=lambda F, g, n: -g)
define("mul_scalar", "MulBackward1", "self", lambda x, value: x * value, grad=lambda F, g, n: F.mul_scalar(g, n.value))
define("div_scalar", "DivBackward1", "self", lambda x, value: x / value, grad=lambda F, g, n: F.div_scalar(g, n.value))
define("remainder", "RemainderBackward0", "self", lambda x, value: np.remainder(x, value), grad=same)
define("pow", "PowBackward0", "self", _power, "self", grad=lambda F, g, n, x:
       F.zeros_like(g) if n.exponent == 0 else g * F.mul_scalar(F.pow(x, n.exponent - 1), n.exponent))
define("rpow", "PowBackward2", "exponent", lambda x, base: np.power(base, x), "exponent result",
       grad=lambda F, g, n, e, r: g * F.mul_scalar(r, math.log(n.base)))
define("clamp", "ClampBackward1", "self", _clamp, "self", grad=_inside)
define("clamp_min", "ClampMinBackward0", "self", lambda x, min: np.maximum(x, min), "self", grad=_inside)
define("clamp_max", "ClampMaxBackward0", "self", lambda x, max: np.minimum(x, max), "self", grad=_inside)

# --- of one tensor
define("neg", "NegBackward0", "self", _unary("negative"), grad=lambda F, g, n: -g)
define("abs", "AbsBackward0", "self", _unary("absolute"), "self", grad=lambda F, g, n, x: g * F.sgn(x))
define("sgn", "SgnBackward0", "self", _unary("sign"), "self result", grad=nothing)
define("sign", "SignBackward0", "self", _unary("sign"), grad=nothing)
define("floor", "FloorBackward0", "self", _unary("floor"), grad=nothing)
define("ceil", "CeilBackward0", "self", _unary("ceil"), grad=nothing)
define("round", "RoundBackward0", "self", _unary("rint"), grad=nothing)
define("reciprocal", "ReciprocalBackward0", "self", _float("reciprocal"), "result", grad=lambda F, g, n, r: -g * (r * r))
define("exp", "ExpBackward0", "self", _float("exp"), "result", grad=lambda F, g, n, r: g * r)
define("expm1", "Expm1Backward0", "self", _float("expm1"), "result", grad=lambda F, g, n, r: g * F.add_scalar(r, 1))
define("log", "LogBackward0", "self", _float("log"), "self", grad=lambda F, g, n, x: g / x)
define("log1p", "Log1PBackward0", "self", _float("log1p"), "self", grad=lambda F, g, n, x: g / F.add_scalar(x, 1))
define("sqrt", "SqrtBackward0", "self", _float("sqrt"), "result", grad=lambda F, g, n, r: g / F.mul_scalar(r, 2))
define("rsqrt", "RsqrtBackward0", "self", lambda x: 1 / np.sqrt(real(x)), "result",
       grad=lambda F, g, n, r: F.mul_scalar(g, -0.5) * F.pow(r, 3))
define("sin", "SinBackward0", "self", _float("sin"), "self", grad=lambda F, g, n, x: g * F.cos(x))
define("cos", "CosBackward0", "self", _float("cos"), "self", grad=lambda F, g, n, x: g * -F.sin(x))

# --- activations, and the nodes of their own derivatives
define("tanh", "TanhBackward0", "self", _float("tanh"), "result", grad=lambda F, g, n, r: F.tanh_backward(g, r))
define("tanh_backward", "TanhBackwardBackward0", "grad_output output", lambda g, r: g * (1 - r * r), "grad_output output",
       grad_output=lambda F, g, n, gg, r: F.tanh_backward(g, r), output=lambda F, g, n, gg, r: g * (F.mul_scalar(r, -2) * gg))
define("sigmoid", "SigmoidBackward0", "self", _sigmoid, "result", grad=lambda F, g, n, r: F.sigmoid_backward(g, r))
define("sigmoid_backward", "SigmoidBackwardBackward0", "grad_output output", lambda g, r: g * (1 - r) * r, "grad_output output",
       grad_output=lambda F, g, n, gg, r: F.sigmoid_backward(g, r),
       output=lambda F, g, n, gg, r: g * gg * F.add_scalar(F.mul_scalar(r, -2), 1))
define("relu", "ReluBackward0", "self", lambda x: np.maximum(x, 0), "result", grad=lambda F, g, n, r: F.threshold_backward(g, r))
define("threshold_backward", "ThresholdBackwardBackward0", "grad_output self", lambda g, x: g * (x > 0), "self",
       grad_output=lambda F, g, n, x: F.threshold_backward(g, x), self=nothing)
define("leaky_relu", "LeakyReluBackward0", "self", lambda x, negative_slope=0.01: np.where(x > 0, x, x * negative_slope), "self",
       grad=lambda F, g, n, x: F.leaky_relu_backward(g, x, n.negative_slope))
define("leaky_relu_backward", "LeakyReluBackwardBackward0", "grad_output self", lambda g, x, slope: np.where(x > 0, g, g * slope),
       "self", grad_output=lambda F, g, n, x: F.leaky_relu_backward(g, x, n.slope), self=nothing)
define("silu", "SiluBackward0", "self", lambda x: x * _sigmoid(x), "self", grad=_silu_grad)
define("softplus", "SoftplusBackward0", "self", lambda x: np.logaddexp(x, 0), "self",
       grad=lambda F, g, n, x: F.softplus_backward(g, x))
define("softplus_backward", "SoftplusBackwardBackward0", "grad_output self", lambda g, x: g * _sigmoid(x), "grad_output self",
       grad_output=lambda F, g, n, gg, x: F.softplus_backward(g, x),
       self=lambda F, g, n, gg, x: F.sigmoid_backward(g * gg, F.sigmoid(x)))
define("gelu", "GeluBackward0", "self", lambda x: x * _cdf(x), "self", grad=lambda F, g, n, x: F.gelu_backward(g, x))
define("gelu_backward", "GeluBackwardBackward0", "grad_output self", lambda g, x: g * (_cdf(x) + x * _density(x)), "grad_output self",
       grad_output=lambda F, g, n, gg, x: F.gelu_backward(g, x), self=lambda F, g, n, gg, x: g * gg * F.gelu_curvature(x))
define("gelu_curvature", "MulBackward0", "self", lambda x: _density(x) * (2 - x * x), "self",
       grad=lambda F, g, n, x: g * (F.gelu_slope(x) * x))
define("gelu_slope", "MulBackward0", "self", lambda x: _density(x) * (x * x - 4))

# --- no derivative
for _name, _ufunc in (("eq", "equal"), ("ne", "not_equal"), ("lt", "less"), ("le", "less_equal"), ("gt", "greater"),
                      ("ge", "greater_equal"), ("logical_and", "logical_and"), ("logical_or", "logical_or")):
    define(_name, "", "self other", _binary(_ufunc))
for _name in ("logical_not", "isnan", "isinf", "isfinite", "zeros_like", "ones_like"):
    define(_name, "", "self", _unary(_name))
