# SPDX-License-Identifier: BSD-3-Clause
"""What a thread is doing: whether it records, who listens, and the switches that users turn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "no_grad", "set_grad_enabled"]


class _State(threading.local):
    enabled: bool = True
    hooks: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...] = ()
    """Pack and unpack hooks of saved tensors, innermost last."""
    listener: Any = None  # who is told of everything that happens to the graph: a `tracing.Trace`
    number: int = 0  # the next node's number
    leaves: int = 0  # the last leaf's number in a trace, counted downwards
    walks: int = 0
    walk: Any = None  # the pass under way


state = _State()


def is_grad_enabled() -> bool:
    return state.enabled


class set_grad_enabled(ContextDecorator):
    """Turns recording on or off, now and until the end of a `with`; decorates functions too."""

    def __init__(self, mode: bool) -> None:
        self.before, self.mode = state.enabled, bool(mode)
        state.enabled = self.mode

    def __enter__(self) -> None:
        state.enabled = self.mode

    def __exit__(self, *_: object) -> None:
        state.enabled = self.before

    def __call__(self, function: Any) -> Any:
        state.enabled = self.before  # as a decorator it acts on the calls, not now
        return super().__call__(function)

    def _recreate_cm(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)


class no_grad(set_grad_enabled):
    """Records nothing: as a `with`, or as a decorator, with parentheses or without."""

    setting = False

    def __new__(cls, function: Any = None, **_: Any) -> Any:
        return cls()(function) if callable(function) else super().__new__(cls)

    def __init__(self, *_: Any) -> None:
        self.before, self.mode = state.enabled, self.setting

    def __enter__(self) -> None:
        self.before, state.enabled = state.enabled, self.mode


class inference_mode(no_grad):
    """Like `no_grad`."""


class enable_grad(no_grad):
    """Records again inside `no_grad`."""

    setting = True
