# SPDX-License-Identifier: BSD-3-Clause
"""A callback for Lightning's Trainer and for Fabric.

from secondpass.plugins.lightning import SecondPass

Trainer(callbacks=[SecondPass()])
Fabric(callbacks=[SecondPass()])

The Trainer's own loop calls the user's functions: what they do is watched from `fit` to its end. Fabric's user has a loop
of his own: there it is watched from the first `setup` until the program ends, as `secondpass.install()` does.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import secondpass

from ._watch_span import Span

# The same library comes under two names, and loading the other one takes seconds.
if TYPE_CHECKING or "pytorch_lightning" not in sys.modules or "lightning.pytorch" in sys.modules:
    from lightning.pytorch import Callback
else:
    from pytorch_lightning import Callback

__all__ = ["SecondPass"]


class SecondPass(Callback):
    """Explains a failing `fit`, and says at its end what was silently wrong."""

    def __init__(self) -> None:
        self._span = Span()

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Begins to watch."""
        self._span.begin()

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Stops watching."""
        self._span.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Stops watching; the exception has its note already."""
        self._span.fail(exception)

    def on_after_setup(self, fabric: Any, module: Any) -> None:
        """Fabric has set up a module."""
        secondpass.install()
