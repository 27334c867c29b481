# SPDX-License-Identifier: BSD-3-Clause
"""`torch.autograd`: passes from functions, and functions of one's own."""

from __future__ import annotations

from .passes import backward, grad

__all__ = ["backward", "grad"]
