# SPDX-License-Identifier: BSD-3-Clause
"""A limit on the time of one piece of work that holds even where the work does not look at the clock."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Overtime", "within"]


class Overtime(BaseException):
    """The time is over. No `Exception`, so that nothing on the way takes it for one of the work's own."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises `Overtime` inside the block after so many seconds of CPU.

    Only where a signal can do it: in the main thread, on systems that have timers, and where nobody else uses this one.
    """
    free = hasattr(signal, "SIGVTALRM") and threading.current_thread() is threading.main_thread()
    if not free or signal.getsignal(signal.SIGVTALRM) is not signal.SIG_DFL:
        yield
        return

    def stop(*_: Any) -> None:
        raise Overtime

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
