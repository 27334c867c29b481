# SPDX-License-Identifier: BSD-3-Clause
"""How a program ends by an exception or an interrupt, as in a plain run."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["die_of_interrupt", "show", "without_ours"]


def show(error: BaseException) -> Any:
    """What Python does with an exception that nobody caught; returns the exit status."""
    kind, where = type(error), error.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, where
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(kind, error, where)
    except SystemExit as stop:
        return stop.code
    except BaseException as fault:
        print("Error in sys.excepthook:", file=sys.stderr)
        traceback.print_exception(fault.with_traceback(without_ours(fault.__traceback__)), chain=False)
        print("\nOriginal exception was:", file=sys.stderr)
        traceback.print_exception(error)
    return 1


def die_of_interrupt() -> None:
    """A program that ends by Ctrl-C dies of the signal: shells and launchers look at that."""
    if os.name != "posix":
        return
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def without_ours(where: TracebackType | None) -> TracebackType | None:
    """A traceback that begins in the user's program."""
    here = str(Path(__file__).resolve().parent)
    while where is not None and os.path.dirname(where.tb_frame.f_code.co_filename) == here:
        where = where.tb_next
    return where
