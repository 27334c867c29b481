# SPDX-License-Identifier: BSD-3-Clause
"""A watch that begins in one callback and ends in another."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

import secondpass

from ..record import Report
from ..render import color_for, text
from ..session import installed

__all__ = ["Span"]


class Span:
    """Watches from `begin` to `end` or `fail`. A failing pass has its note by itself; the rest is said at the end.

    Where the whole program is watched already (`secondpass run`, `install`), there is nothing left to do.
    """

    def __init__(self) -> None:
        self._watch: Any = None
        self._hook: Any = None
        self._plain: Any = None

    def begin(self) -> None:
        """Starts to watch. A span that was never closed, because nobody told that the training failed, is given up."""
        self._close(None)
        if installed() is None:
            self._watch = secondpass.watch(quiet=True, frozen=True)
            self._watch.__enter__()
            self._plain, self._hook = sys.excepthook, self._reading(sys.excepthook)
            sys.excepthook = self._hook

    def end(self) -> None:
        """Stops, and says on stderr what was silently wrong."""
        session = self._close(None)
        findings = tuple(session.silent) if session is not None else ()
        sys.stderr.write(text.render(Report(findings=findings), color=color_for(sys.stderr)))

    def fail(self, error: BaseException) -> None:
        """Stops, because the training failed."""
        self._close(error)

    def _reading(self, plain: Any) -> Any:
        """For the framework that does not tell when it fails: the exception is read all the same."""

        def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
            self.fail(error)
            plain(kind, error, traceback)

        return excepthook

    def _close(self, error: BaseException | None) -> Any:
        watch, self._watch = self._watch, None
        if watch is None:
            return None
        if sys.excepthook is self._hook:
            sys.excepthook = self._plain
        self._hook = self._plain = None
        watch.__exit__(type(error) if error else None, error, None)
        return watch.session
