# SPDX-License-Identifier: BSD-3-Clause
"""A watch that begins in one callback and ends in another."""

from __future__ import annotations

import sys
from typing import Any

import secondpass

from ..record import Report
from ..render import color_for, text

__all__ = ["Span"]


class Span:
    """Watches from `begin` to `end` or `fail`. A failing pass has its note by itself; the rest is said at the end."""

    def __init__(self) -> None:
        self._watch: Any = None

    def begin(self) -> None:
        """Starts to watch. A span that was never closed, because nobody told that the training failed, is given up."""
        self._close(None)
        self._watch = secondpass.watch(quiet=True)
        self._watch.__enter__()

    def end(self) -> None:
        """Stops, and says on stderr what was silently wrong."""
        session = self._close(None)
        findings = tuple(session.silent) if session is not None else ()
        sys.stderr.write(text.render(Report(findings=findings), color=color_for(sys.stderr)))

    def fail(self, error: BaseException) -> None:
        """Stops, because the training failed."""
        self._close(error)

    def _close(self, error: BaseException | None) -> Any:
        watch, self._watch = self._watch, None
        if watch is None:
            return None
        watch.__exit__(type(error) if error else None, error, None)
        return watch.session
