# SPDX-License-Identifier: BSD-3-Clause
"""`torch.optim`: SGD, Adam, AdamW, and a schedule."""

from . import lr_scheduler
from .optimizers import SGD, Adam, AdamW, Optimizer

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
