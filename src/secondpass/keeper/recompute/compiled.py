# SPDX-License-Identifier: BSD-3-Clause
"""Compiled regions inside of a forward that is written down.

The compiler traces through function modes, and would compile the tape into the region. So the tape steps aside while
compiled code is called. What that code makes is not seen, and is held.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch

from ..stand_in import StandIn, standing_in

__all__ = ["paused", "step_out", "watching_compiled"]

_NAME = "_maybe_set_eval_frame"
_modes: Callable[[], list[Any]] = torch.overrides._get_current_function_mode_stack
_push: Callable[[Any], None] = torch.overrides._push_mode
_pop: Callable[[], Any] = torch.overrides._pop_mode


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Within, no tape of this thread sees anything."""
    stack = _modes()
    ours = [mode for mode in stack if getattr(mode, "steps_aside", False)]
    if not ours:
        yield
        return
    before = _replace([mode for mode in stack if mode not in ours])
    try:
        yield
    finally:
        _replace(before)


def step_out(mode: Any) -> None:
    """Takes a mode from the stack, wherever it is: what began in a generator need not end in order."""
    modes = _modes()
    if modes and modes[-1] is mode:
        _pop()
    elif mode in modes:
        _replace([other for other in modes if other is not mode])


def _replace(modes: list[Any]) -> list[Any]:
    before = _modes()
    for _ in before:
        _pop()
    for mode in modes:
        _push(mode)
    return before


class _Watcher(StandIn):
    """Stands where compiled code is entered and left.

    The same function is called at both, by whoever enters and leaves: the compiler itself does so on the way, around what
    it must not compile. So a tape comes back when the one returns for whom it stepped aside.
    """

    def __init__(self, below: Any) -> None:
        super().__init__(below)
        self._here = threading.local()

    def __call__(self, callback: Any) -> Any:
        aside: tuple[int, list[Any]] | None = getattr(self._here, "aside", None)
        if aside is None and callback not in (None, False):
            modes = _modes()
            if any(getattr(mode, "steps_aside", False) for mode in modes):
                stack = _replace([m for m in modes if not getattr(m, "steps_aside", False)])
                self._here.aside = _enterer(sys._getframe(1)), stack
        elif aside is not None and aside[0] == _enterer(sys._getframe(1)):
            self._here.aside = None
            _replace(aside[1])
        return self.below(callback)


def _enterer(frame: FrameType) -> int:
    """Who enters compiled code, and leaves it: a call of a function, or a context manager."""
    return id(frame.f_locals["self"] if frame.f_code.co_name in ("__enter__", "__exit__") else frame)


@contextlib.contextmanager
def watching_compiled() -> Iterator[None]:
    """Within, tapes step aside for compiled functions."""
    module: Any = sys.modules.get("torch._dynamo.eval_frame")
    if module is None or not hasattr(module, _NAME):
        yield
        return
    with standing_in(_Watcher, module, _NAME):
        yield
