# SPDX-License-Identifier: BSD-3-Clause
"""A handler for the engines of Ignite.

from secondpass.plugins.ignite import SecondPass

SecondPass().attach(trainer)
"""

from __future__ import annotations

from ignite.engine import Engine, Events

from ._watch_span import Span

__all__ = ["SecondPass"]


class SecondPass:
    """Explains a failing run of an engine, and says at its end what was silently wrong."""

    def __init__(self) -> None:
        self._span = Span()

    def attach(self, engine: Engine) -> None:
        """Watches whenever the engine runs."""
        engine.add_event_handler(Events.STARTED, self._begin)
        engine.add_event_handler(Events.COMPLETED, self._end)
        engine.add_event_handler(Events.TERMINATE, self._end)
        engine.add_event_handler(Events.INTERRUPT, self._end)

    def _begin(self, engine: Engine) -> None:
        # An exception is left to whoever reads it: a handler of it would make the engine swallow it.
        self._span.begin()

    def _end(self, engine: Engine) -> None:
        self._span.end()
