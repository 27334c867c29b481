# SPDX-License-Identifier: BSD-3-Clause
"""Watching a live PyTorch program: PyTorch -> Trace.

    secondpass.install()              # from here on, for the whole process
    with secondpass.watch() as w:     # for a block
        train()
    print(w.report().to_json())

Importing this package loads nothing; torch is loaded by the first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._verb import callable_as

if TYPE_CHECKING:
    from .session import Session

__all__ = ["explain", "install", "uninstall", "watch"]


class _Installed:
    session: Session | None = None


def install() -> Session:
    """Watches every pass of this process from now on. Calling it again changes nothing."""
    from .session import Session

    if _Installed.session is None:
        _Installed.session = Session()
        _Installed.session.start()
    return _Installed.session


def uninstall() -> None:
    """Stops watching and restores every name that was patched."""
    if _Installed.session is not None:
        _Installed.session.stop()
        _Installed.session = None


class watch:
    """Watches the passes of a block; `report()` says what was found."""

    def __init__(self) -> None:
        from .session import Session

        self.session = Session()

    def __enter__(self) -> Session:
        self.session.start()
        return self.session

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            self.session.finish(ended=error is None)
        finally:
            self.session.stop()


def explain(error: BaseException | None = None) -> Any:
    """Explains an exception after the fact (the last one by default); prints, and returns the report."""
    from .postmortem import explain as _explain

    return _explain(error)


callable_as(__name__, "watch")
