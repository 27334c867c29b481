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
from typing import Any

import torch

__all__ = ["paused", "watching_compiled"]

_NAME = "_maybe_set_eval_frame"
_lock = threading.Lock()
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


def _replace(modes: list[Any]) -> list[Any]:
    before = _modes()
    for _ in before:
        _pop()
    for mode in modes:
        _push(mode)
    return before


class _Watcher:
    """Stands where compiled code is entered and left."""

    def __init__(self, below: Any) -> None:
        self.below, self.users = below, 0
        self._here = threading.local()

    def __call__(self, callback: Any) -> Any:
        stack: list[Any] | None = getattr(self._here, "stack", None)
        if callback not in (None, False) and stack is None:
            modes = _modes()
            if any(getattr(mode, "steps_aside", False) for mode in modes):
                self._here.stack = _replace([m for m in modes if not getattr(m, "steps_aside", False)])
        elif callback in (None, False) and stack is not None:
            self._here.stack = None
            _replace(stack)
        return self.below(callback)


@contextlib.contextmanager
def watching_compiled() -> Iterator[None]:
    """Within, tapes step aside for compiled functions."""
    module: Any = sys.modules.get("torch._dynamo.eval_frame")
    if module is None or not hasattr(module, _NAME):
        yield
        return
    with _lock:
        watcher = getattr(module, _NAME)
        if not isinstance(watcher, _Watcher):
            watcher = _Watcher(watcher)
            setattr(module, _NAME, watcher)
        watcher.users += 1
    try:
        yield
    finally:
        with _lock:
            watcher.users -= 1
            if not watcher.users and getattr(module, _NAME) is watcher:
                setattr(module, _NAME, watcher.below)
