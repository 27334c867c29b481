# SPDX-License-Identifier: BSD-3-Clause
"""The functions that modules are made of, under PyTorch's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..functions import FUNCTIONS, norm
from ..inplace import inplace as change
from ..methods import Tensor
from ..ops import OPS
from ..products import matmul
from ..random import default_generator
from ..recording import row
from ..recording import tensors as F

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "dropout", "embedding", "gelu",
    "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "mse_loss", "nll_loss", "normalize", "one_hot",
    "relu", "sigmoid", "silu", "smooth_l1_loss", "softmax", "softplus", "tanh",
]  # fmt: skip

tanh, sigmoid, softmax, log_softmax = (FUNCTIONS[n] for n in ("tanh", "sigmoid", "softmax", "log_softmax"))
gelu, silu, softplus, leaky_relu = row("gelu"), row("silu"), row("softplus"), row("leaky_relu")


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    turned = F.t(weight)
    if bias is not None and (weight._a.ndim != 2 or x._a.shape[-1:] != turned._a.shape[:1]):
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({list(x.shape)} and {list(turned.shape)})")
    if x._a.dtype != weight._a.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {x.dtype} and {weight.dtype}")
    if bias is None:
        return matmul(x, turned)
    if x._a.ndim == 2:
        return F.addmm(bias, x, turned)
    if x._a.flags.c_contiguous:
        flat = F.addmm(bias, F.view(x, (-1, x._a.shape[-1])), turned)
        return F.view(flat, (*x._a.shape[:-1], weight._a.shape[0]))
    return change(OPS["add"], matmul(x, turned), bias)


def relu(x: Tensor, inplace: bool = False) -> Tensor:
    return change(OPS["relu"], x) if inplace else F.relu(x)


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return x
    noise = default_generator.uniform(x._a.shape, np.float64) < 1 - p
    scaled = noise.astype(x._a.dtype) / x._a.dtype.type(1 - p) if p < 1 else np.zeros_like(x._a)
    return F.mul(x, Tensor(scaled))


def embedding(indices: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    if indices._a.size and not (indices._a.min() >= 0 and indices._a.max() < weight._a.shape[0]):
        raise IndexError("index out of range in self")
    return F.embedding(weight, indices, -1 if padding_idx is None else padding_idx)


def layer_norm(x: Tensor, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    want = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not want or x._a.shape[x._a.ndim - len(want) :] != want:
        raise RuntimeError(f"Given normalized_shape={list(want)}, expected input to end so, but got {list(x.shape)}")
    return F.native_layer_norm(x, weight, bias, len(want), eps)[0]


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    return F.div(x, F.expand(F.clamp_min(norm(x, p, dim, True), eps), x._a.shape))


# --- losses
def how(reduction: str) -> str:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _reduce(x: Tensor, reduction: str) -> Tensor:
    return x if how(reduction) == "none" else F.mean(x) if reduction == "mean" else F.sum(x)


def _same(x: Tensor, y: Tensor) -> list[Tensor]:
    try:
        shape = np.broadcast_shapes(x._a.shape, y._a.shape)
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    return [t if t._a.shape == shape else F.expand(t, shape) for t in (x, y)]


def mse_loss(x: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
    return F.mse_loss(*_same(x, y), how(reduction))


def smooth_l1_loss(x: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
    return F.smooth_l1_loss(*_same(x, y), how(reduction))


def l1_loss(x: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
    return _reduce(F.abs(F.sub(*_same(x, y))), reduction)


def binary_cross_entropy(x: Tensor, y: Tensor, weight: Any = None, reduction: str = "mean") -> Tensor:
    if x._a.shape != y._a.shape:
        raise ValueError(f"Using a target size ({y.shape}) that is different to the input size ({x.shape})")
    if x._a.size and not (x._a.min() >= 0 and x._a.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    return F.binary_cross_entropy(x, y, how(reduction))


def binary_cross_entropy_with_logits(x: Tensor, y: Tensor, reduction: str = "mean") -> Tensor:
    if x._a.shape != y._a.shape:
        raise ValueError(f"Target size ({y.shape}) must be the same as input size ({x.shape})")
    return F.bce_with_logits(x, y, how(reduction))


def nll_loss(x: Tensor, target: Tensor, reduction: str = "mean", ignore_index: int = -100) -> Tensor:
    if x._a.ndim != 2 or target._a.shape != x._a.shape[:1]:
        raise ValueError(f"Expected input (N, C) and target (N) (got {list(x.shape)} and {list(target.shape)})")
    used = target._a[target._a != ignore_index]
    if used.size and not (used.min() >= 0 and used.max() < x._a.shape[1]):
        raise IndexError(f"Target {used.max()} is out of bounds.")
    return F.nll_loss(x, target, how(reduction), ignore_index)[0]


def cross_entropy(x: Tensor, target: Tensor, reduction: str = "mean", ignore_index: int = -100) -> Tensor:
    if target._a.shape == x._a.shape:
        if target._a.dtype.kind != "f":
            raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype}")
        return _reduce(F.neg(F.sum_dim(F.mul(F.log_softmax(x, 1), target), 1)), reduction)
    if x._a.ndim > 2 and target._a.shape != (x._a.shape[0], *x._a.shape[2:]):
        raise RuntimeError(f"Expected target size {[x._a.shape[0], *x._a.shape[2:]]}, got {list(target.shape)}")
    return nll_loss(F.log_softmax(x, 1), target, reduction, ignore_index)


def one_hot(index: Tensor, num_classes: int = -1) -> Tensor:
    count = int(index._a.max()) + 1 if num_classes < 0 else num_classes
    return Tensor(np.eye(count, dtype=np.int64)[index._a])
