# SPDX-License-Identifier: BSD-3-Clause
"""`torch.linalg`: norms."""

from __future__ import annotations

from typing import Any

from .functions import norm
from .tensors import Tensor

__all__ = ["norm", "vector_norm"]


def vector_norm(x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The length of vectors."""
    return norm(x, ord, dim, keepdim)
