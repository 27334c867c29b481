# SPDX-License-Identifier: BSD-3-Clause
"""Who holds tensors with history: the names in the user's frames, one level of objects and containers deep."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

from ...record import Holding, Node, Pass, Sighting
from ..nn.modules import Module
from ..optim import Optimizer
from ..place import frames
from ..tensors import Tensor

__all__ = ["Seen", "look", "optimizers", "running"]

Seen = tuple[str, str, Tensor, str]
"""Name as the source writes it, kind of holder, the tensor, the function whose frame has the name."""

_MANY = 256  # containers are looked through up to here: a longer one is named by its first items all the same
_TERMS = 12  # sums up to here
_SCALED = ("Add", "Sub", "Cat", "Stack", "Lerp", "Mul", "Div", "Neg", "Rsub")


def look() -> Iterator[Seen]:
    """The tensors that the user's frames hold, innermost frame first."""
    return ((name, kind, value, function) for name, kind, value, function in _look() if isinstance(value, Tensor))


def optimizers() -> dict[Optimizer, str]:
    """The optimizers that the user's frames hold, by the name that is nearest."""
    found: dict[Optimizer, str] = {}
    for name, _, value, _ in _look():
        if isinstance(value, Optimizer):
            found.setdefault(value, name)
    return found


def running(seen: Sequence[Sighting], passes: Sequence[Pass], nodes: Mapping[int, Node]) -> Iterator[Holding]:
    """Sums that were built from what the same name held before, and that no pass walks: their history grows."""
    walked: set[int] = set().union(*(p.walked or () for p in passes))
    last: dict[str, tuple[int, int]] = {}
    for one in seen:
        before, length = last.get(one.name, (-1, 0))
        if one.number not in walked and one.number != before and one.number in nodes:
            length = length + 1 if before in _terms(one.number, nodes) else 0
            last[one.name] = (one.number, length)
            if length:
                yield Holding(one.when, one.name, "running", length, (one.name,))


def _terms(number: int, nodes: Mapping[int, Node]) -> list[int]:
    """What a value is made of; of a sum, scaled or not, also what its terms are: `mean = 0.9 * mean + 0.1 * x`."""
    found, todo = list(nodes[number].parents or ()), [number]
    while todo and len(found) < _TERMS:
        node = nodes.get(todo.pop(0))
        if node is not None and node.op.startswith(_SCALED):
            found += node.parents or ()
            todo += node.parents or ()
    return found


def _look() -> Iterator[tuple[str, str, Any, str]]:
    for frame in frames():
        function = "" if frame.f_code.co_name == "<module>" else frame.f_code.co_name
        for name, value in _names(frame):
            kind = "cell" if name in frame.f_code.co_freevars else "local" if function else "global"
            for shown, how, found in _inside(name, kind, value):
                yield shown, how, found, function


def _names(frame: FrameType) -> list[tuple[str, Any]]:
    found = frame.f_locals
    names = [(n, v) for n, v in found.items() if not n.startswith("__")]
    if sys.version_info < (3, 13) and frame.f_code.co_flags & CO_OPTIMIZED:
        found.clear()  # a copy, which the frame would keep, and with it every tensor, until it is asked again
    return names


def _inside(name: str, kind: str, value: Any, depth: int = 0) -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, (Tensor, Optimizer)):
        yield name, kind, value
    elif depth > 2 or isinstance(value, (str, bytes, int, float, type)):
        return
    elif isinstance(value, dict):
        for key, item in list(value.items())[:_MANY]:
            yield from _inside(f'{name}["{key}"]' if isinstance(key, str) else f"{name}[...]", "slot", item, depth + 1)
    elif isinstance(value, (list, tuple)) or type(value).__name__ == "deque":
        for item in list(value)[:_MANY]:
            yield from _inside(f"{name}[...]", "slot", item, depth + 1)
    elif isinstance(value, Module) or (
        hasattr(value, "__dict__") and type(value).__module__.split(".")[0] not in _SKIPPED
    ):
        if isinstance(value, Module) and not depth:
            yield from ((f"{name}.{key}", "attribute", p) for key, p in value.named_parameters())
        for key, item in list(vars(value).items())[:_MANY]:
            if not key.startswith("__"):
                yield from _inside(f"{name}.{key}", "attribute", item, depth + 1)


_SKIPPED = frozenset({"builtins", "numpy", "secondpass", "types", "functools", "re", "random"})
