# SPDX-License-Identifier: BSD-3-Clause
"""Taking the time."""

from __future__ import annotations

import time

import torch

__all__ = ["moment"]


def moment(device: torch.device) -> float:
    """Now, when all that a device was told to do is done."""
    if device.type == "cuda" and not torch.cuda.is_current_stream_capturing():
        torch.cuda.synchronize(device)
    return time.perf_counter()
