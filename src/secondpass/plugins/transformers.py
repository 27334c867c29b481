# SPDX-License-Identifier: BSD-3-Clause
"""A callback for the Trainer of Transformers.

from secondpass.plugins.transformers import SecondPass

Trainer(model, args, callbacks=[SecondPass()])
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from ._watch_span import Span

__all__ = ["SecondPass"]


class SecondPass(TrainerCallback):
    """Explains a failing `train`, and says at its end what was silently wrong."""

    def __init__(self) -> None:
        self._span = Span()

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begins to watch. The Trainer tells its callbacks nothing when it fails: then the next beginning ends it."""
        self._span.begin()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stops watching."""
        self._span.end()
