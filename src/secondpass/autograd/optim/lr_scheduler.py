# SPDX-License-Identifier: BSD-3-Clause
"""`torch.optim.lr_scheduler`: learning rates that change with the epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["LambdaLR", "StepLR"]


class LambdaLR:
    """The first learning rate times a function of the epoch."""

    def __init__(self, optimizer: Any, lr_lambda: Callable[[int], float]) -> None:
        self.optimizer, self.factor, self.last_epoch = optimizer, lr_lambda, -1
        self.base_lrs = [group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups]
        self.step()

    def step(self) -> None:
        """Goes to the next epoch."""
        self.last_epoch += 1
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = base * self.factor(self.last_epoch)

    def get_last_lr(self) -> list[float]:
        """The learning rates at hand."""
        return [group["lr"] for group in self.optimizer.param_groups]


class StepLR(LambdaLR):
    """Times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer, lambda epoch: gamma ** (epoch // step_size))
