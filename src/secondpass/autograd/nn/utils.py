# SPDX-License-Identifier: BSD-3-Clause
"""`torch.nn.utils`: keeping gradients in bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..tensors import Tensor, bump

__all__ = ["clip_grad_norm_"]


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scales the gradients down so that all together are no longer than `max_norm`; returns their length before."""
    if norm_type != 2:
        raise RuntimeError(f"only norm_type=2 is supported (got {norm_type})")
    many = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    grads = [p._grad for p in many if p._grad is not None]
    total = math.sqrt(sum(float((g._a * g._a).sum()) for g in grads))
    scale = min(max_norm / (total + 1e-6), 1.0)
    for g in grads:
        g._a *= scale
        bump(g)
    return Tensor(np.array(total, np.float32))
