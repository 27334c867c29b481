# SPDX-License-Identifier: BSD-3-Clause
"""Layers and losses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import array_type, default
from ..functions import flatten
from ..methods import Tensor
from ..random import default_generator
from ..recording import tensors as T
from .functional import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    dropout,
    embedding,
    gelu,
    how,
    l1_loss,
    layer_norm,
    leaky_relu,
    linear,
    mse_loss,
    nll_loss,
    relu,
    sigmoid,
    silu,
    smooth_l1_loss,
    softmax,
    softplus,
    tanh,
)  # fmt: skip
from .modules import Module, Parameter

__all__ = [
    "GELU", "BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "Dropout", "Embedding", "Flatten", "GRUCell",
    "Identity", "L1Loss", "LSTMCell", "LayerNorm", "LeakyReLU", "Linear", "MSELoss", "NLLLoss", "RNNCell", "ReLU",
    "SiLU", "Sigmoid", "SmoothL1Loss", "Softmax", "Softplus", "Tanh",
]  # fmt: skip


def _uniform(shape: tuple[int, ...], fan: int, dtype: Any = None) -> Parameter:
    bound, kind = 1 / math.sqrt(fan) if fan else 0.0, array_type(dtype)
    drawn = default_generator.uniform(shape, kind)
    return Parameter(Tensor((drawn * kind.type(2 * bound) - kind.type(bound)).astype(kind)))


class Linear(Module):
    """x @ weight.T + bias."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: Any = None) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = _uniform((out_features, in_features), in_features, dtype)
        self.bias = _uniform((out_features,), in_features, dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


class Embedding(Module):
    """A table of rows, chosen by index."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        rows = default_generator.normal((num_embeddings, embedding_dim), default.kind)
        if padding_idx is not None:
            rows[padding_idx] = 0
        self.weight = Parameter(Tensor(rows))

    def forward(self, indices: Tensor) -> Tensor:
        return embedding(indices, self.weight, self.padding_idx)


class LayerNorm(Module):
    """Zero mean and unit variance over the last dimensions, then a scale and a shift."""

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.weight = Parameter(Tensor(np.ones(shape, default.kind))) if elementwise_affine else None
        self.bias = Parameter(Tensor(np.zeros(shape, default.kind))) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class Dropout(Module):
    """Zeroes elements at random while training."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p, self.training)


# --- recurrent cells
class _Cell(Module):
    gates = 1

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh") -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.nonlinearity = input_size, hidden_size, nonlinearity
        rows = self.gates * hidden_size
        self.weight_ih = _uniform((rows, input_size), hidden_size)
        self.weight_hh = _uniform((rows, hidden_size), hidden_size)
        self.bias_ih = _uniform((rows,), hidden_size) if bias else None
        self.bias_hh = _uniform((rows,), hidden_size) if bias else None

    def __call__(self, x: Tensor, state: Any = None) -> Any:
        """One step, of a batch or of a single item."""
        many = isinstance(self, LSTMCell)
        begin = Tensor(np.zeros((*x._a.shape[:-1], self.hidden_size), x._a.dtype))
        given = [begin] * (1 + many) if state is None else list(state) if many else [state]
        if any(t._a.ndim not in (1, 2) for t in (x, *given)):
            raise ValueError(f"{type(self).__name__}: Expected tensors of 1D or 2D")
        if x._a.ndim == 2:
            return super().__call__(x, *given)
        out = super().__call__(T.unsqueeze(x, 0), *(T.unsqueeze(t, 0) for t in given))
        return tuple(T.squeeze_dim(t, 0) for t in out) if many else T.squeeze_dim(out, 0)

    def _both(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        if x._a.shape[-1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x._a.shape[-1]} expected {self.input_size}")
        if h._a.ndim == 1 and h._a.shape[0] == x._a.shape[0]:
            raise IndexError(f"Dimension out of range: the hidden state of a batch has two (got {list(h.shape)})")
        if h._a.shape[-1] != self.hidden_size or h._a.shape[:-1] != x._a.shape[:-1]:
            raise RuntimeError(f"hidden state of {list(h.shape)} does not fit an input of {list(x.shape)}")
        return linear(x, self.weight_ih, self.bias_ih), linear(h, self.weight_hh, self.bias_hh)

    def _gates(self, t: Tensor) -> tuple[Tensor, ...]:
        return T.unsafe_split(t, (self.hidden_size,) * self.gates, t._a.ndim - 1)


class RNNCell(_Cell):
    """tanh (or relu) of what comes in and what was."""

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        new, old = self._both(x, h)
        return T.tanh(T.add(old, new)) if self.nonlinearity == "tanh" else T.relu(T.add(old, new))


class GRUCell(_Cell):
    """A cell with a reset and an update gate."""

    gates = 3

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        a, b = map(self._gates, self._both(x, h))
        reset, update = T.sigmoid(T.add(b[0], a[0])), T.sigmoid(T.add(b[1], a[1]))
        fresh = T.tanh(T.add(a[2], T.mul(b[2], reset)))
        return T.add(T.mul(T.sub(h, fresh), update), fresh)


class LSTMCell(_Cell):
    """A cell with a state and a memory."""

    gates = 4

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        new, old = self._both(x, h)
        i, f, g, o = self._gates(T.add(old, new))
        keep, write, value, show = T.sigmoid(f), T.sigmoid(i), T.tanh(g), T.sigmoid(o)
        c = T.add(T.mul(keep, c), T.mul(write, value))
        return T.mul(show, T.tanh(c)), c


# --- activations and losses: a function each
def _layer(name: str, function: Any, *options: str) -> Any:
    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        self.options = {**dict(zip(options, args, strict=False)), **kwargs}
        self.options.pop("inplace", None)
        how(self.options.get("reduction", "mean"))
        vars(self).update(self.options)

    def forward(self: Any, *args: Any) -> Any:
        return function(*args, **self.options)

    return type(name, (Module,), {"__init__": start, "forward": forward, "__module__": __name__})


ReLU, Tanh, Sigmoid = _layer("ReLU", relu), _layer("Tanh", tanh), _layer("Sigmoid", sigmoid)
GELU, SiLU, Softplus = _layer("GELU", gelu), _layer("SiLU", silu), _layer("Softplus", softplus)
LeakyReLU = _layer("LeakyReLU", leaky_relu, "negative_slope")
Softmax = _layer("Softmax", softmax, "dim")
Identity = _layer("Identity", lambda x: x)
Flatten = _layer("Flatten", lambda x, start_dim=1, end_dim=-1: flatten(x, start_dim, end_dim), "start_dim", "end_dim")
MSELoss, L1Loss = _layer("MSELoss", mse_loss), _layer("L1Loss", l1_loss)
SmoothL1Loss, CrossEntropyLoss = _layer("SmoothL1Loss", smooth_l1_loss), _layer("CrossEntropyLoss", cross_entropy)
NLLLoss, BCELoss = _layer("NLLLoss", nll_loss), _layer("BCELoss", binary_cross_entropy)
BCEWithLogitsLoss = _layer("BCEWithLogitsLoss", binary_cross_entropy_with_logits)
