# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic and comparison, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .table import define, np

__all__ = ["erf", "promote", "quiet", "real"]


def real(x: Any) -> Any:
    """Integers become floats where only floats make sense."""
    return x if x.dtype.kind == "f" else x.astype(np.float32)


_RANK = {"b": 0, "i": 1, "u": 1, "f": 2}


def promote(a: Any, b: Any) -> tuple[Any, Any]:
    """Brings two arrays to one type: PyTorch lets an array with dimensions win over one without, NumPy does not."""
    x, y = a.dtype, b.dtype
    if x == y:
        return a, b
    p, q = _RANK[x.kind], _RANK[y.kind]
    if p == q and (a.ndim == 0) != (b.ndim == 0):
        kind = y if a.ndim == 0 else x
    elif p != q:
        kind = (x if p > q else y) if 2 in (p, q) else np.promote_types(x, y)
    else:
        kind = np.promote_types(x, y)
    return a.astype(kind, copy=False), b.astype(kind, copy=False)


def _binary(name: str) -> Callable[[Any, Any], Any]:
    def value(a: Any, b: Any) -> Any:
        try:
            if a.dtype is not b.dtype:
                a, b = promote(a, b)
        except AttributeError:  # a plain number takes the type of the other
            pass
        return getattr(np, name)(a, b)

    return value


def _add(a: Any, b: Any, alpha: float = 1) -> Any:
    try:
        if a.dtype is not b.dtype:
            a, b = promote(a, b)
    except AttributeError:
        pass
    if a.__class__ is not np.ndarray or b.__class__ is not np.ndarray or a.dtype.kind != "b":
        return np.add(a, b) if alpha == 1 else np.add(a, np.multiply(b, alpha))
    return np.logical_or(a, b)


def _sub(a: Any, b: Any, alpha: float = 1) -> Any:
    return _subtract(a, b if alpha == 1 else np.multiply(b, alpha))


def _div(a: Any, b: Any) -> Any:
    try:
        if a.dtype is not b.dtype:
            a, b = promote(a, b)
        a, b = real(a), real(b)
    except AttributeError:
        pass
    with np.errstate(all="ignore"):
        return np.true_divide(a, b)


_subtract = _binary("subtract")


def quiet(name: str) -> Callable[[Any], Any]:
    """A NumPy function that does not warn: infinities and NaNs are answers too."""

    def value(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return getattr(np, name)(real(x))

    return value


def _scale(F: Any, g: Any, alpha: float) -> Any:
    return g if alpha == 1 else F.mul_scalar(g, value=alpha)


# Tensor with tensor (Python's operators wrap numbers as tensors)
define(
    "add", "AddBackward0", "self other", _add,
    self=lambda F, g, n: g, other=lambda F, g, n: _scale(F, g, n.params.get("alpha", 1)),
)  # fmt: skip
define(
    "sub", "SubBackward0", "self other", _sub,
    self=lambda F, g, n: g, other=lambda F, g, n: _scale(F, F.neg(g), n.params.get("alpha", 1)),
)  # fmt: skip
define(
    "mul", "MulBackward0", "self other", _binary("multiply"), {"other": "self", "self": "other"},
    self=lambda F, g, n, other, self: F.mul(g, other), other=lambda F, g, n, other, self: F.mul(g, self),
)  # fmt: skip
define(
    "div", "DivBackward0", "self other", _div, {"other": "", "self": "other"},
    self=lambda F, g, n, other, self: F.div(g, other),
    other=lambda F, g, n, other, self: F.mul(F.neg(g), F.div(F.div(self, other), other)),
)  # fmt: skip
define("rsub", "RsubBackward1", "self", lambda x, value: np.subtract(value, x), grad=lambda F, g, n: F.neg(g))
define("remainder", "RemainderBackward0", "self", lambda x, value: np.remainder(x, value), grad=lambda F, g, n: g)
define(
    "remainder_tensor", "RemainderBackward1", "self other", _binary("remainder"), {"other": "other", "self": "other"},
    self=lambda F, g, n, other, self: g,
    other=lambda F, g, n, other, self: F.mul(F.neg(g), F.div_floor(self, other)),
)  # fmt: skip
define(
    "div_floor", "DivBackward2", "self other", _binary("floor_divide"), {"other": "", "self": "other"},
    self=lambda F, g, n, other, self: F.zeros_like(g), other=lambda F, g, n, other, self: F.zeros_like(g),
)  # fmt: skip
# Tensor with number, as PyTorch's own formulas do it: nothing is saved
define(
    "mul_scalar", "MulBackward1", "self", lambda x, value: x * value,
    grad=lambda F, g, n: F.mul_scalar(g, value=n.params["value"]),
)  # fmt: skip
define(
    "div_scalar", "DivBackward1", "self", lambda x, value: x / value,
    grad=lambda F, g, n: F.div_scalar(g, value=n.params["value"]),
)  # fmt: skip
define("add_scalar", "AddBackward1", "self", lambda x, value: x + value, grad=lambda F, g, n: g)
define("sub_scalar", "SubBackward1", "self", lambda x, value: x - value, grad=lambda F, g, n: g)


def _pow_grad(F: Any, g: Any, n: Any, self: Any) -> Any:
    p = n.params["exponent"]
    return F.zeros_like(g) if p == 0 else F.mul(g, F.mul_scalar(F.pow(self, exponent=p - 1), value=p))


def _pow(x: Any, exponent: float) -> Any:
    with np.errstate(all="ignore"):
        return np.square(x) if exponent == 2 else np.power(x, exponent)


def _powers(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.power(*promote(a, b))


define("pow", "PowBackward0", "self", _pow, "self", grad=_pow_grad)
define(
    "pow_tensor", "PowBackward1", "self exponent", _powers, {"exponent": "", "result": "", "self": ""},
    self=lambda F, g, n, e, r, x: F.where(
        F.eq(e, 0.0), F.zeros_like(g), F.mul(g, F.mul(e, F.pow_tensor(x, F.sub_scalar(e, value=1.0))))
    ),
    exponent=lambda F, g, n, e, r, x: F.mul(
        g, F.where(F.logical_and(F.eq(x, 0.0), F.ge(e, 0.0)), F.zeros_like(g), F.mul(r, F.log(x)))
    ),
)  # fmt: skip
define(
    "rpow", "PowBackward2", "exponent", lambda e, base: np.power(base, e), "exponent result",
    grad=lambda F, g, n, e, r: F.mul(g, F.mul_scalar(r, value=math.log(n.params["base"]))),
)  # fmt: skip
define("neg", "NegBackward0", "self", lambda x: np.negative(x), grad=lambda F, g, n: F.neg(g))
define("abs", "AbsBackward0", "self", lambda x: np.absolute(x), "self", grad=lambda F, g, n, x: F.mul(g, F.sgn(x)))
define("sgn", "SgnBackward0", "self", lambda x: np.sign(x), "self result", grad=lambda F, g, n, x, r: F.zeros_like(g))
define("sign", "SignBackward0", "self", lambda x: np.sign(x), grad=lambda F, g, n: F.zeros_like(g))
define(
    "reciprocal", "ReciprocalBackward0", "self", quiet("reciprocal"), "result",
    grad=lambda F, g, n, r: F.mul(F.neg(g), F.mul(r, r)),
)  # fmt: skip
define("exp", "ExpBackward0", "self", quiet("exp"), "result", grad=lambda F, g, n, r: F.mul(g, r))
define(
    "expm1", "Expm1Backward0", "self", quiet("expm1"), "result",
    grad=lambda F, g, n, r: F.mul(g, F.add_scalar(r, value=1)),
)  # fmt: skip
define("log", "LogBackward0", "self", quiet("log"), "self", grad=lambda F, g, n, x: F.div(g, x))
define(
    "log1p", "Log1PBackward0", "self", quiet("log1p"), "self",
    grad=lambda F, g, n, x: F.div(g, F.add_scalar(x, value=1)),
)  # fmt: skip
define(
    "sqrt", "SqrtBackward0", "self", quiet("sqrt"), "result",
    grad=lambda F, g, n, r: F.div(g, F.mul_scalar(r, value=2)),
)  # fmt: skip
define(
    "rsqrt", "RsqrtBackward0", "self", lambda x: 1 / np.sqrt(real(x)), "result",
    grad=lambda F, g, n, r: F.mul(F.mul_scalar(g, value=-0.5), F.pow(r, exponent=3)),
)  # fmt: skip
define("sin", "SinBackward0", "self", quiet("sin"), "self", grad=lambda F, g, n, x: F.mul(g, F.cos(x)))
define("cos", "CosBackward0", "self", quiet("cos"), "self", grad=lambda F, g, n, x: F.mul(g, F.neg(F.sin(x))))


def erf(x: Any) -> Any:
    """The error function."""
    flat = map(math.erf, x.ravel().tolist())
    return np.fromiter(flat, x.dtype, x.size).reshape(x.shape)


define(
    "erf", "ErfBackward0", "self", erf, "self",
    grad=lambda F, g, n, x: F.mul(
        F.mul_scalar(F.exp(F.neg(F.pow(x, exponent=2))), value=2 / math.sqrt(math.pi)), g
    ),
)  # fmt: skip


# Choosing
def _extreme(better: str, worse: str, key: str) -> None:
    def half(F: Any, g: Any, mine: Any, other: Any) -> Any:
        tie = F.where(F.eq(mine, other), F.div_scalar(g, value=2), g)
        return F.masked_fill(tie, getattr(F, worse)(mine, other), value=0.0)

    define(
        key, f"{key.capitalize()}Backward0", "self other", _binary(key), "other self",
        self=lambda F, g, n, b, a: half(F, g, a, b), other=lambda F, g, n, b, a: half(F, g, b, a),
    )  # fmt: skip


_extreme("gt", "lt", "maximum")
_extreme("lt", "gt", "minimum")


def _inside(F: Any, g: Any, n: Any, x: Any) -> Any:
    lo, hi = n.params.get("min"), n.params.get("max")
    mask = F.ge(x, lo) if lo is not None else F.le(x, hi)
    if lo is not None and hi is not None:
        mask = F.logical_and(mask, F.le(x, hi))
    return F.where(mask, g, 0.0)


for _name, _node in (
    ("clamp", "ClampBackward1"),
    ("clamp_min", "ClampMinBackward0"),
    ("clamp_max", "ClampMaxBackward0"),
):
    define(_name, _node, "self", lambda x, min=None, max=None: np.clip(x, min, max), "self", grad=_inside)
define(
    "lerp", "LerpBackward0", "self end", lambda a, b, weight: a + weight * (b - a),
    self=lambda F, g, n: F.mul_scalar(g, value=1 - n.params["weight"]),
    end=lambda F, g, n: F.mul_scalar(g, value=n.params["weight"]),
)  # fmt: skip

# No derivative
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _ufunc = {
        "eq": "equal",
        "ne": "not_equal",
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
    }
    define(_name, "", "self other", _binary(_ufunc[_name]))
for _name in ("logical_and", "logical_or", "logical_xor"):
    define(_name, "", "self other", _binary(_name))
for _name in ("logical_not", "isnan", "isinf", "isfinite"):
    define(_name, "", "self", lambda x, _f=_name: getattr(np, _f)(x))
define("zeros_like", "", "self", lambda x: np.zeros_like(x))
define("ones_like", "", "self", lambda x: np.ones_like(x))
for _name, _ufunc_name in (("floor", "floor"), ("ceil", "ceil"), ("round", "rint")):
    define(_name, f"{_name.capitalize()}Backward0", "self", lambda x, _f=_ufunc_name: getattr(np, _f)(x),
           grad=lambda F, g, n: F.zeros_like(g))  # fmt: skip
