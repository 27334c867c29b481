# SPDX-License-Identifier: BSD-3-Clause
"""Who holds tensors with history: the paths from the user's frames, a few levels of objects and containers deep."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Mapping
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

from ...record import Node, Path
from ..nn.modules import Module
from ..optim import Optimizer
from ..place import frames
from ..tensors import Tensor

__all__ = ["Seen", "look", "optimizers", "terms"]

Seen = tuple[Path, Tensor, str]
"""The path, the tensor at its end, the function whose frame has the name."""

_MANY = 256  # containers are looked through up to here: a longer one is named by its first items all the same
_TERMS = 12  # sums up to here
_SCALED = ("Add", "Sub", "Cat", "Stack", "Lerp", "Mul", "Div", "Neg", "Rsub")


def look() -> Iterator[Seen]:
    """The tensors that the user's frames hold, innermost frame first."""
    return ((path, value, function) for path, value, function in _look() if isinstance(value, Tensor))


def optimizers() -> dict[Optimizer, str]:
    """The optimizers that the user's frames hold, by the name that is nearest."""
    found: dict[Optimizer, str] = {}
    for path, value, _ in _look():
        if isinstance(value, Optimizer):
            found.setdefault(value, path.name)
    return found


def terms(number: int, nodes: Mapping[int, Node]) -> tuple[int, ...]:
    """What a value is made of; of a sum, scaled or not, also what its terms are: `mean = 0.9 * mean + 0.1 * x`."""
    found: list[int] = []
    todo = [number]
    while todo and len(found) < _TERMS:
        node = nodes.get(todo.pop(0))
        if node is not None and node.op.startswith(_SCALED):
            found += node.parents or ()
            todo += node.parents or ()
    return tuple(found)


def _look() -> Iterator[tuple[Path, Any, str]]:
    for frame in frames():
        function = "" if frame.f_code.co_name == "<module>" else frame.f_code.co_name
        for name, value in _names(frame):
            scope = "cell" if name in frame.f_code.co_freevars else "local" if function else "global"
            for path, found in _inside(Path(name, scope, (), _type(value)), value):  # type: ignore[arg-type]
                yield path, found, function


def _names(frame: FrameType) -> list[tuple[str, Any]]:
    found = frame.f_locals
    names = [(n, v) for n, v in found.items() if not n.startswith("__")]
    if sys.version_info < (3, 13) and frame.f_code.co_flags & CO_OPTIMIZED:
        found.clear()  # a copy, which the frame would keep, and with it every tensor, until it is asked again
    return names


def _type(value: Any) -> str:
    return "NamedTuple" if isinstance(value, tuple) and type(value) is not tuple else type(value).__name__


def _inside(path: Path, value: Any, depth: int = 0) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, (Tensor, Optimizer)):
        yield path, value
    elif depth > 2 or isinstance(value, (str, bytes, int, float, type)):
        return
    elif isinstance(value, dict):
        for key, item in list(value.items())[:_MANY]:
            shown = f'"{key}"' if isinstance(key, str) else repr(key) if isinstance(key, int) else "..."
            yield from _inside(path.then("item", shown, _type(item)), item, depth + 1)
    elif isinstance(value, (list, tuple, deque)):
        for i, item in enumerate(list(value)[:_MANY]):
            yield from _inside(path.then("item", str(i), _type(item)), item, depth + 1)
    elif isinstance(value, Module) or (
        hasattr(value, "__dict__") and type(value).__module__.split(".")[0] not in _SKIPPED
    ):
        if isinstance(value, Module) and not depth:
            yield from ((path.then("attribute", key, "Parameter"), p) for key, p in value.named_parameters())
        for key, item in list(vars(value).items())[:_MANY]:
            if not key.startswith("__"):
                yield from _inside(path.then("attribute", key, _type(item)), item, depth + 1)


_SKIPPED = frozenset({"builtins", "numpy", "secondpass", "types", "functools", "re", "random"})
