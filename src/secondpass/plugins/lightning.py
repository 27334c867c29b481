# SPDX-License-Identifier: BSD-3-Clause
"""A callback for Lightning's Trainer.

from secondpass.plugins.lightning import SecondPass

Trainer(callbacks=[SecondPass()])
"""

from __future__ import annotations

from lightning.pytorch import Callback, LightningModule, Trainer

from ._span import Span

__all__ = ["SecondPass"]


class SecondPass(Callback):
    """Explains a failing `fit`, and says at its end what was silently wrong."""

    def __init__(self) -> None:
        self._span = Span()

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begins to watch."""
        self._span.begin()

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Stops watching."""
        self._span.end()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Stops watching; the exception has its note already."""
        self._span.fail(exception)
