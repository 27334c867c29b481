# SPDX-License-Identifier: BSD-3-Clause
"""Activations, and the nodes of their own derivatives."""

from __future__ import annotations

import math
from typing import Any

from .pointwise import erf, quiet, real
from .table import define, np

define("tanh", "TanhBackward0", "self", quiet("tanh"), "result", grad=lambda F, g, n, r: F.tanh_backward(g, r))
define(
    "tanh_backward", "TanhBackwardBackward0", "grad_output output", lambda g, r: g * (1 - r * r), "grad_output output",
    grad_output=lambda F, g, n, gg, r: F.tanh_backward(g, r),
    output=lambda F, g, n, gg, r: F.mul(g, F.mul(F.mul_scalar(r, value=-2), gg)),
)  # fmt: skip


def _sigmoid(x: Any) -> Any:
    # tanh never overflows, and one call serves both signs.
    return 0.5 * np.tanh(0.5 * real(x)) + 0.5


define("sigmoid", "SigmoidBackward0", "self", _sigmoid, "result", grad=lambda F, g, n, r: F.sigmoid_backward(g, r))
define(
    "sigmoid_backward", "SigmoidBackwardBackward0", "grad_output output", lambda g, r: g * (1 - r) * r,
    "grad_output output",
    grad_output=lambda F, g, n, gg, r: F.sigmoid_backward(g, r),
    output=lambda F, g, n, gg, r: F.mul(F.mul(g, gg), F.add_scalar(F.mul_scalar(r, value=-2), value=1)),
)  # fmt: skip
define(
    "relu", "ReluBackward0", "self", lambda x: np.maximum(x, 0), "result",
    grad=lambda F, g, n, r: F.threshold_backward(g, r),
)  # fmt: skip
define(
    "threshold_backward", "ThresholdBackwardBackward0", "grad_output self", lambda g, x: g * (x > 0), "self",
    grad_output=lambda F, g, n, x: F.threshold_backward(g, x), self=lambda F, g, n, x: F.zeros_like(g),
)  # fmt: skip
define(
    "leaky_relu", "LeakyReluBackward0", "self", lambda x, slope=0.01: np.where(x > 0, x, x * slope), "self",
    grad=lambda F, g, n, x: F.leaky_relu_backward(g, x, slope=n.params.get("slope", 0.01)),
)  # fmt: skip
define(
    "leaky_relu_backward", "LeakyReluBackwardBackward0", "grad_output self",
    lambda g, x, slope: np.where(x > 0, g, g * slope), "self",
    grad_output=lambda F, g, n, x: F.leaky_relu_backward(g, x, **n.params), self=lambda F, g, n, x: F.zeros_like(g),
)  # fmt: skip


def _silu_grad(F: Any, g: Any, n: Any, x: Any) -> Any:
    s = F.sigmoid(x)
    return F.mul(F.mul(g, s), F.add_scalar(F.mul(x, F.sub(1.0, s)), value=1))


define("silu", "SiluBackward0", "self", lambda x: x * _sigmoid(x), "self", grad=_silu_grad)
define("softplus", "SoftplusBackward0", "self", lambda x: np.logaddexp(x, 0), "self",
       grad=lambda F, g, n, x: F.softplus_backward(g, x))  # fmt: skip
define(
    "softplus_backward", "SoftplusBackwardBackward0", "grad_output self", lambda g, x: g * _sigmoid(x),
    "grad_output self",
    grad_output=lambda F, g, n, gg, x: F.softplus_backward(g, x),
    self=lambda F, g, n, gg, x: F.sigmoid_backward(F.mul(g, gg), F.sigmoid(x)),
)  # fmt: skip


def _density(x: Any) -> Any:
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def _cdf(x: Any) -> Any:
    return 0.5 * (1 + erf(x / math.sqrt(2)))


define("gelu", "GeluBackward0", "self", lambda x: x * _cdf(x), "self", grad=lambda F, g, n, x: F.gelu_backward(g, x))
define(
    "gelu_backward", "GeluBackwardBackward0", "grad_output self", lambda g, x: g * (_cdf(x) + x * _density(x)),
    "grad_output self",
    grad_output=lambda F, g, n, gg, x: F.gelu_backward(g, x),
    self=lambda F, g, n, gg, x: F.mul(F.mul(g, gg), F.gelu_curvature(x)),
)  # fmt: skip
define("gelu_curvature", "MulBackward0", "self", lambda x: _density(x) * (2 - x * x), "self",
       grad=lambda F, g, n, x: F.mul(g, F.mul(F.gelu_slope(x), x)))  # fmt: skip
define("gelu_slope", "MulBackward0", "self", lambda x: _density(x) * (x * x - 4))
