# SPDX-License-Identifier: BSD-3-Clause
"""What a thread is doing: whether it records, who listens, and the switches that users turn."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Listener", "enable_grad", "inference_mode", "is_grad_enabled", "no_grad", "set_grad_enabled", "state"]


class Listener(Protocol):
    """Who is told of everything that happens to the graph (see `tracing`)."""

    def node(self, node: Any) -> None: ...
    def begin(self, walk: Any) -> None: ...
    def end(self, walk: Any, error: BaseException | None) -> None: ...
    def failed(self, kind: str, error: BaseException) -> None: ...
    def step(self, optimizer: Any) -> None: ...
    def zero_grad(self, owner: Any, leaves: list[Any]) -> None: ...
    def write(self, tensor: Any, how: str) -> None: ...
    def cut(self, tensor: Any, kind: str) -> None: ...


class _State(threading.local):
    enabled: bool = True
    hooks: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...] = ()
    """Pack and unpack hooks of saved tensors, innermost last."""
    listener: Listener | None = None
    number: int = 0
    """The next node's number."""
    leaves: int = 0
    """The last leaf's number in a trace, counted downwards."""
    walks: int = 0
    walk: Any = None
    """The pass under way."""


state = _State()


def is_grad_enabled() -> bool:
    """Whether operations are recorded."""
    return state.enabled


class set_grad_enabled:
    """Turns recording on or off, now and until the end of a `with`; decorates functions too."""

    def __init__(self, mode: bool) -> None:
        self.before, self.mode = state.enabled, bool(mode)
        state.enabled = self.mode

    def __enter__(self) -> None:
        state.enabled = self.mode

    def __exit__(self, *_: object) -> None:
        state.enabled = self.before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        state.enabled = self.before  # as a decorator it acts on the calls, not now
        return _decorated(function, lambda: set_grad_enabled(self.mode))


class _Switch:
    mode = True

    def __new__(cls, function: Any = None, **_: Any) -> Any:
        made = super().__new__(cls)
        return made if function is None or isinstance(function, bool) else made(function)

    def __init__(self, *_: Any) -> None:
        pass

    def __enter__(self) -> None:
        self.before, state.enabled = state.enabled, self.mode

    def __exit__(self, *_: object) -> None:
        state.enabled = self.before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return _decorated(function, type(self))


class no_grad(_Switch):
    """Records nothing: as a `with` or a decorator."""

    mode = False


class inference_mode(no_grad):
    """Like `no_grad`."""


class enable_grad(_Switch):
    """Records again inside `no_grad`."""


def _decorated(function: Callable[..., Any], switch: Callable[[], Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with switch():
            return function(*args, **kwargs)

    return inside
