# SPDX-License-Identifier: BSD-3-Clause
"""The two functions that every pass and every step goes through while a program is watched.

What costs here is not the work but the memory that it touches for the first time in a step. So short notes (see
`short_notes`) are written right here, with what they need in cells, and everything else is called.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling

from .short_notes import BITS

__all__ = ["pass_entrance", "step_entrance"]

_NONE: tuple[Any, ...] = (None, None, 0, -1)
_peek = torch.autograd._get_sequence_nr  # type: ignore[attr-defined]


def pass_entrance(watcher: Any) -> Callable[..., Any]:
    """What stands in the place of PyTorch's function."""
    steady, log = watcher.steady, watcher.log
    frame_at, ident, main, peek = sys._getframe, threading.get_ident, steady.main, _peek
    known, note_number, note_place, none = steady.passes.get, steady.numbers.append, steady.places.append, _NONE

    def _engine_run_backward(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        note: Any = None
        if steady.left and len(args) == 4 and not steady.in_pass and ident() == main:
            try:
                _, retain, create, inputs = args
                frame = frame_at(3)  # behind `torch.autograd.backward` and `Tensor.backward`
                caller = frame.f_back or frame
                code, outer, instruction, kind = known(frame.f_lasti, none)
                if frame.f_code is not code or caller.f_lasti != instruction or caller.f_code is not outer:
                    kind = steady.kind_of_pass(frame_at(2), frame, caller)
                if kind >= 0 and not create and not inputs and len(t_outputs) == 1:
                    steady.in_pass = True
                    steady.left -= 1
                    if log is not None:
                        note_place(log.position())
                    note_number(peek() << BITS | kind | (1 if retain else 0))
                    note = steady
            except ValueError:  # there are not so many frames
                pass
            except Exception as error:
                watcher.fault(error)
        if note is None and watcher.awake:
            note = watcher.guarded(watcher.enter, t_outputs, args, kwargs)
        try:
            result = watcher.original(t_outputs, *args, **kwargs)
        except BaseException as error:
            if note is steady:
                steady.in_pass = False
            if note is not None:
                watcher.guarded(watcher.failed, note, t_outputs, args, error)
            raise
        if note is steady:
            steady.in_pass = False
        elif note is not None:
            watcher.guarded(watcher.leave, note)
        return result

    _engine_run_backward.watcher = watcher  # type: ignore[attr-defined]
    return _engine_run_backward


def step_entrance(watcher: Any) -> Callable[[Any, Any, Any], None]:
    """PyTorch's hook before each step."""
    steady, log = watcher.steady, watcher.log
    frame_at, ident, main, peek = sys._getframe, threading.get_ident, steady.main, _peek
    known, note_number, note_place = steady.steps.get, steady.numbers.append, steady.places.append
    none = (None, None, -1)

    def before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        if is_dynamo_compiling():
            return  # a compiled step must not trace into us
        if steady.left and not steady.in_pass and ident() == main:
            try:
                frame = frame_at(2)
                if frame.f_code is steady.between:
                    frame = frame.f_back or frame
                code, ref, kind = known(frame.f_lasti, none)
                if frame.f_code is not code or ref() is not optimizer:
                    kind = steady.kind_of_step(optimizer, frame)
                if kind >= 0:
                    steady.left -= 1
                    if log is not None:
                        note_place(log.position())
                    note_number(peek() << BITS | kind)
                    return
            except Exception as error:
                watcher.fault(error)
        if not watcher.asleep:
            watcher.guarded(watcher.step_begins, optimizer)

    return before_step
