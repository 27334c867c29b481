# SPDX-License-Identifier: BSD-3-Clause
"""`torch.optim.lr_scheduler`: a learning rate that changes with the epoch."""

from __future__ import annotations

from typing import Any

__all__ = ["StepLR"]


class StepLR:
    """The first learning rate, times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1) -> None:
        self.optimizer, self.step_size, self.gamma, self.last_epoch = optimizer, step_size, gamma, 0
        self.base_lrs = [group["lr"] for group in optimizer.param_groups]

    def step(self) -> None:
        self.last_epoch += 1
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = base * self.gamma ** (self.last_epoch // self.step_size)
