# SPDX-License-Identifier: BSD-3-Clause
"""Watching, judging, repairing and saying put together.

    secondpass.install()              # from here on, for the whole process
    with secondpass.watch() as w:     # for a block
        train()
    print(w.report().to_json())

Importing this package loads nothing; torch is loaded by the first call.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..record import Report
    from .session import Session

__all__ = ["explain", "install", "uninstall", "watch"]


class _Installed:
    session: Session | None = None
    adopted = False
    hook: Callable[..., Any] | None = None
    """What we have put in the place of `sys.excepthook`."""
    plain: Callable[..., Any] = sys.__excepthook__


def install(*, lines: bool = True) -> Session:
    """Watches every pass of this process from now on. Calling it again changes nothing.

    `lines` marks the statements of the program's functions, so that what they build has a line. What is under way
    already, the calling function say, cannot be marked: so call it early, or use `secondpass run`.

    A failing pass is explained in a note on its exception; what was silently wrong is said when the program ends.
    """
    from .session import Session

    if _Installed.session is None:
        _Installed.session = Session(lines=lines)
        _Installed.session.share()
        _Installed.session.start()
        atexit.register(_at_exit)
        _Installed.plain, _Installed.hook = sys.excepthook, _reading(sys.excepthook)
        sys.excepthook = _Installed.hook
    return _Installed.session


def adopt(session: Session | None) -> None:
    """`secondpass run` watches the whole program: its own `install()` and `uninstall()` have nothing left to do."""
    _Installed.session, _Installed.adopted = session, session is not None


def installed() -> Session | None:
    """The watch over the whole program, if there is one."""
    return _Installed.session


def uninstall() -> None:
    """Stops watching and restores every name that was patched."""
    if _Installed.session is not None and not _Installed.adopted:
        atexit.unregister(_at_exit)
        if sys.excepthook is _Installed.hook:  # somebody who came later calls it on: then it stays, and does nothing
            sys.excepthook = _Installed.plain
        _Installed.session.stop()
        _Installed.session = None


def _reading(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A hook for exceptions that nobody has caught: now their notes are read."""
    session = _Installed.session

    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if session is not None and session is _Installed.session:
            session.raised(error, lambda: plain(kind, error, traceback))
        else:
            plain(kind, error, traceback)

    return excepthook


def _at_exit() -> None:
    session = _Installed.session
    if session is not None:
        # An exception that nobody caught has been shown by now, and is all that there is to say.
        failed = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        uninstall()
        if failed is None:
            session.finish(ended=True)
            session.tell()
        if session.ranks is not None:
            session.ranks.leave()


def hold_marks() -> Callable[[], None]:
    """Marks the functions of the program now, for many short watches to come; returns what ends it."""
    from ..watcher.mark_running import Live

    live = Live.begin()
    return live.end if live is not None else lambda: None


class watch:
    """Watches the passes of a block.

    A failing pass is explained in a note on its exception; what was silently wrong is said when the block ends (unless
    `quiet`), and `report()` of what the block is given has all of it. `lines` is as for `install`. `frozen` says that
    nothing happens meanwhile in the functions that call this one: a callback's watch begins and ends inside of one call.
    """

    def __init__(self, *, quiet: bool = False, lines: bool = True, frozen: bool = False) -> None:
        from .session import Session

        log = _Installed.session.watcher.log if _Installed.session is not None else None
        self.session = Session(log=log, lines=lines)
        self.session.watcher.frozen = frozen
        self.quiet = quiet

    def __enter__(self) -> Session:
        self.session.start()
        return self.session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self.session.raised(error)
            self.session.finish(ended=error is None)
        finally:
            self.session.stop()
        if not self.quiet:
            self.session.tell()


def explain(error: BaseException | None = None, *, show: bool = True) -> Report:
    """Explains an exception after the fact (the last one by default); prints, and returns the report."""
    from .postmortem import explain as after_the_fact
    from .postmortem import last

    error = error or last()
    if _Installed.session is not None and (seen := _Installed.session.report_of(error)) is not None:
        if show:
            from ..render import color_for
            from ..render.text import render

            print(render(seen, color=color_for(sys.stderr)), end="", file=sys.stderr)
        return seen
    return after_the_fact(error, show=show)
