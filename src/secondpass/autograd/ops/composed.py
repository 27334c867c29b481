# SPDX-License-Identifier: BSD-3-Clause
"""Functions of PyTorch that are several operations, for readers who cannot run them.

Each is written as the expression that is recorded in the usual case; names are rows of `OPS`, `result[0]` is the first
output. The functions themselves are in `functions` and `nn.functional`.
"""

from __future__ import annotations

__all__ = ["COMPOSED"]

COMPOSED: dict[str, str] = {
    "matmul": "mm(self, other)",
    "linear": "addmm(bias, input, t(weight))",
    "linear_without_bias": "mm(input, t(weight))",
    "reshape": "view(self)",
    "flatten": "view(self)",
    "chunk": "split(self)",
    "narrow": "slice(self)",
    "square": "pow(self)",
    "norm": "vector_norm(self)",
    "outer": "mul(view(self), other)",
    "cross_entropy": "nll_loss(log_softmax(input), target)[0]",
    "l1_loss": "mean(abs(sub(input, target)))",
    "dropout": "mul(input, noise)",
    "layer_norm": "native_layer_norm(input, weight, bias)[0]",
    "rnn_cell": "tanh(add(addmm(b_hh, hx, t(w_hh)), addmm(b_ih, input, t(w_ih))))",
    "normalize": "div(input, expand(clamp_min(vector_norm(input))))",
    "rtruediv": "mul(reciprocal(self), other)",
}
