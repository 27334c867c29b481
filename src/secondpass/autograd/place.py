# SPDX-License-Identifier: BSD-3-Clause
"""Where in the user's source an operation runs, and what it acts on."""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Iterator
from types import CodeType, FrameType

from ..record import Place

__all__ = ["Spot", "frames", "here", "place", "stack", "written"]

Spot = tuple[CodeType, int]  # a code object and a line: cheap to take, turned into a Place only when somebody reads it

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def here(depth: int = 2) -> Spot | None:
    """The innermost line outside this package."""
    frame = sys._getframe(depth)
    while frame.f_code.co_filename.startswith(_OURS):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return frame.f_code, frame.f_lineno


def place(spot: Spot | None) -> Place | None:
    """A spot as record data, with files relative to the working directory where they lie below it."""
    if spot is None:
        return None
    code, line = spot
    file = code.co_filename.removeprefix(os.getcwd() + os.sep)
    return Place(file, line, "" if code.co_name == "<module>" else code.co_name)


def frames(limit: int = 16) -> Iterator[FrameType]:
    """The user's frames, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and limit:
        if not frame.f_code.co_filename.startswith(_OURS):
            limit -= 1
            yield frame
        frame = frame.f_back


def stack() -> tuple[Place, ...]:
    """The user's lines, innermost first."""
    found = (place((frame.f_code, frame.f_lineno)) for frame in frames())
    return tuple(p for p in found if p is not None)


_TARGETS = {
    "detach": r"([\w.\[\]\"']+)\.detach", "item": r"([\w.\[\]\"']+)\.item", "data": r"([\w.\[\]\"']+)\.data",
    "numpy": r"([\w.\[\]\"']+)\.(?:numpy|tolist)", "wrap": r"tensor\(\s*([\w.\[\]\"']+)",
    "write": r"^\s*([\w.]+(?:\[[^\]]*\])*?)\s*(?:\.\w+_\(|\[[^\]]*\]\s*[-+*/]?=|[-+*/]=)",
}  # fmt: skip


def written(kind: str) -> str:
    """What an expression acts on, as the user's line writes it."""
    spot = here(3)
    if spot is None or kind not in _TARGETS:
        return ""
    found = re.search(_TARGETS[kind], linecache.getline(spot[0].co_filename, spot[1]))
    return found.group(1) if found else ""
