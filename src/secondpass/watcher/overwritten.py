# SPDX-License-Identifier: BSD-3-Clause
"""A tensor of a CUDA graph was read after the graph's next run: what the exception leaves behind.

PyTorch says in its message where in the compiled region the tensor was made. Which tensor it was, the failing expression
tells: it is the one whose memory cannot be had.
"""

from __future__ import annotations

import re
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any

import torch

from ..record import Failure, Place, Trace
from .access import read_by
from .failure import kind_of
from .trace import build
from .watcher import Watcher

__all__ = ["is_overwritten", "overwritten", "user_frames"]

_AT = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_ENTRIES = 64


def is_overwritten(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and kind_of(error) == "overwritten-output"


def overwritten(watcher: Watcher, error: BaseException) -> Trace:
    """What was seen until the reading was refused."""
    frames, places = user_frames(watcher, error.__traceback__)
    trace = build(watcher)
    last = max([*(p.when for p in trace.passes), *(s.when for s in trace.steps)], default=0)
    name = _name(error.__traceback__, frames[:1])
    made = _made_at(watcher, str(error))
    gradients = () if name else (number for number, grad in watcher.gradients.filled() if _is_gone(grad))
    failure = Failure(
        when=last,
        kind="overwritten-output",
        message=str(error).partition("\n")[0],
        place=places[0] if places else None,
        stack=tuple(places),
        names=(name,) if name else (),
        leaf=next(iter(gradients), None),
        made_at=made,
    )
    sources = dict(trace.sources)
    for place in [*places, *([made] if made is not None else [])]:
        sources.setdefault(place.file, watcher.files.text(place.file))
    return replace(trace, failures=(failure,), sources=sources)


def user_frames(watcher: Watcher, traceback: TracebackType | None) -> tuple[list[FrameType], list[Place]]:
    """The user's frames of a traceback and their places, innermost first."""
    frames, places = [], []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if watcher.files.mine(code):
            frames.append(traceback.tb_frame)
            name = code.co_qualname.replace("<locals>.", "")
            places.append(Place(watcher.files.show(code.co_filename), traceback.tb_lineno, name))
        traceback = traceback.tb_next
    return frames[::-1], places[::-1]


def _name(traceback: TracebackType | None, frames: list[FrameType]) -> str:
    """What the failing expression calls the tensor that cannot be read, or the container of it."""
    while traceback is not None:
        if traceback.tb_frame in frames:
            for path, value in read_by(traceback.tb_frame, traceback.tb_lasti):
                entries = list(value.values()) if type(value) is dict else value
                if any(_is_gone(one) for one in (entries[:_ENTRIES] if type(entries) in (list, tuple) else [value])):
                    return path
        traceback = traceback.tb_next
    return ""


def _is_gone(value: Any) -> bool:
    if not isinstance(value, torch.Tensor):
        return False
    try:
        value.data_ptr()
    except RuntimeError as error:
        return kind_of(error) == "overwritten-output"
    return False


def _made_at(watcher: Watcher, message: str) -> Place | None:
    """The innermost line of the user's in the stack that PyTorch's message quotes."""
    found = [m for m in _AT.findall(message) if watcher.files.is_users(m[0])]
    return Place(watcher.files.show(found[-1][0]), int(found[-1][1]), found[-1][2]) if found else None
