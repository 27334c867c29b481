# SPDX-License-Identifier: BSD-3-Clause
"""Where in the user's program something happened."""

from __future__ import annotations

import os
import sys
import warnings
from types import CodeType, FrameType

__all__ = ["caller", "caller_code", "warn"]

_HERE = os.path.dirname(os.path.abspath(__file__))
_TORCH = os.sep + os.path.join("torch", "")


def _frame() -> FrameType | None:
    """The innermost frame that is neither ours nor PyTorch's."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_back is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_HERE, "<")) and _TORCH not in file:
            return frame
        frame = frame.f_back
    return frame


def caller() -> tuple[str, int]:
    """File and line."""
    frame = _frame()
    return ("<unknown>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def caller_code() -> tuple[CodeType | None, int]:
    """The code, and the line in it."""
    frame = _frame()
    return (None, 0) if frame is None else (frame.f_code, frame.f_lineno)


def warn(message: str) -> None:
    """Warns at the user's line, however deep we are."""
    file, line = caller()
    warnings.warn_explicit(message, UserWarning, file, line)
