# SPDX-License-Identifier: BSD-3-Clause
"""Limits on the time and memory of one piece of work."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Overtime", "sweep", "unswept", "within"]


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


@contextmanager
def unswept() -> Iterator[None]:
    """Without garbage collection, which would look through all syntax trees over and over: see `sweep`."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def sweep() -> None:
    """Collects what was made since the last call: what outlived that call is not looked at again."""
    if not gc.isenabled() and gc.get_count()[0] > 20_000:
        gc.collect(0)
