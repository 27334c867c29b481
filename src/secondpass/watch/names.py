# SPDX-License-Identifier: BSD-3-Clause
"""Which of the user's names hold tensors with history: numbers only, never a reference.

Looked at are the locals of the user's frames, the globals of their modules, attributes of objects, slots of containers,
cells of closures and the frames of generators, a few levels deep and within a budget.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from types import FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import torch

from .graph import spent

__all__ = ["Seen", "Snapshot", "look"]

_DEPTH = 5
_BUDGET = 4000
_ENDS = 6
_SUMS = ("Add", "Sub", "Cat", "Stack", "Lerp")
_PLAIN = (int, float, str, bytes, bool, complex, type(None), type, range, slice, ModuleType, torch.dtype, torch.device)
_MODULE_INTERNALS = frozenset(vars(torch.nn.Module()))
_DIRECT = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)
_LIBRARIES = frozenset({"torch", "numpy", "builtins"})
# Library objects that exist to hold the user's tensors.
_HOLDERS = ("torch.utils.data", "torch.distributions", "transformers.modeling_outputs")


@dataclass(slots=True)
class Seen:
    """A name, and the node behind its tensor."""

    name: str
    kind: str
    number: int
    spent: bool | None
    function: str
    parents: tuple[int, ...] = ()
    """Numbers of the nodes behind it, for sums: a running sum shows as a chain."""


@dataclass(slots=True)
class Held:
    """A container with history in it."""

    name: str
    kind: str
    count: int
    oldest: int
    chain: tuple[str, ...]
    function: str


@dataclass(slots=True)
class Snapshot:
    """What was seen at one moment."""

    names: list[Seen] = field(default_factory=list)
    holders: list[Held] = field(default_factory=list)
    optimizers: list[tuple[str, Any]] = field(default_factory=list)
    """Names and optimizers, for use at once: whoever keeps the snapshot replaces them by their identities."""
    modules: list[tuple[str, Any]] = field(default_factory=list)
    """Names and modules, likewise."""


def look(frames: list[FrameType], tensors: dict[int, Any] | None = None) -> Snapshot:
    """Takes a snapshot. `tensors`, when given, receives name -> tensor for use before anything else runs."""
    with torch._C.DisableTorchFunction():
        return _Look(tensors).frames(frames)


class _Look:
    def __init__(self, tensors: Any) -> None:
        self.shot = Snapshot()
        self.seen: set[int] = set()
        self.left = _BUDGET
        self.tensors = tensors
        self.function = ""

    def frames(self, frames: list[FrameType]) -> Snapshot:
        modules = []
        for frame in frames:
            self.frame(frame)
            if frame.f_globals not in modules:
                modules.append(frame.f_globals)
        for names in modules:
            self.function = "<module>"
            for name, value in _direct_first(names):
                if not name.startswith("__"):
                    self.value(name, value, "global", 1, (name,))
        return self.shot

    def frame(self, frame: FrameType) -> None:
        code = frame.f_code
        self.function = code.co_qualname.replace("<locals>.", "")
        if frame.f_locals is frame.f_globals:
            return
        local = frame.f_locals
        try:
            free = set(code.co_freevars)
            for name, value in _direct_first(local):
                self.value(name, value, "cell" if name in free else "local", 0, (name,))
        finally:
            # Up to 3.12 the dict stays with the frame and would keep the user's tensors alive after `del`.
            if sys.version_info < (3, 13):
                local.clear()

    def value(self, name: str, value: Any, kind: str, depth: int, chain: tuple[str, ...]) -> bool:
        """Looks at one value; says whether it holds history."""
        if isinstance(value, _PLAIN):
            return False
        if isinstance(value, torch.Tensor):
            return self.tensor(name, value, kind)
        if depth > _DEPTH or self.left <= 0:
            return False
        self.left -= 1
        if isinstance(value, (list, tuple, deque, set, frozenset)):
            return self.sequence(name, value, depth, chain)
        if isinstance(value, dict):
            return self.mapping(name, value, depth, chain)
        if id(value) in self.seen:
            return False
        self.seen.add(id(value))
        held = False
        if isinstance(value, torch.nn.Module):
            self.shot.modules.append((name, value))
        for full, inner, how in _parts(value, self.shot, name):
            held |= self.value(full, inner, how, depth + 1, (*chain, full.removeprefix(name)))
        return held

    def tensor(self, name: str, value: torch.Tensor, kind: str) -> bool:
        node = value.grad_fn
        if node is None:
            if self.tensors is not None:
                self.tensors.setdefault(name, value)
            return False
        parents: tuple[int, ...] = ()
        if node.name().startswith(_SUMS):
            parents = tuple([n._sequence_nr() for n, _ in node.next_functions if n is not None])
        self.shot.names.append(Seen(name, kind, node._sequence_nr(), spent(node), self.function, parents))
        if self.tensors is not None:
            self.tensors.setdefault(name, value)
        return True

    def sequence(self, name: str, value: Any, depth: int, chain: tuple[str, ...]) -> bool:
        size = len(value)
        if not size or id(value) in self.seen:
            return False
        self.seen.add(id(value))
        items: Any = value if isinstance(value, (list, tuple, deque)) else list(value)
        if isinstance(items[0], (int, float, str)) and isinstance(items[-1], (int, float, str)):
            return False
        places = range(size) if size <= 2 * _ENDS else [*range(_ENDS), *range(size - _ENDS, size)]
        held = [self.slot(f"{name}[{i}]", items[i], depth, chain) for i in places]
        # A deque with a limit forgets by itself.
        if any(held) and not isinstance(value, tuple) and getattr(value, "maxlen", None) is None:
            self.holding(name, sum(held) if size <= 2 * _ENDS else size * sum(held) // len(held), chain)
        return any(held)

    def mapping(self, name: str, value: dict[Any, Any], depth: int, chain: tuple[str, ...]) -> bool:
        if not value or id(value) in self.seen:
            return False
        self.seen.add(id(value))
        held = 0
        for k, (key, inner) in enumerate(list(value.items())):
            if k >= 64:
                break
            shown = f'"{key}"' if isinstance(key, str) else repr(key) if isinstance(key, (int, tuple)) else "..."
            held += self.slot(f"{name}[{shown}]", inner, depth, chain)
        if held:
            self.holding(name, held if len(value) <= 64 else held * len(value) // 64, chain)
        return bool(held)

    def slot(self, name: str, value: Any, depth: int, chain: tuple[str, ...]) -> bool:
        if isinstance(value, torch.Tensor):
            return self.tensor(name, value, "slot")
        return self.value(name, value, "slot", depth + 1, chain)

    def holding(self, name: str, count: int, chain: tuple[str, ...]) -> None:
        prefix = name + "["
        numbers = [s.number for s in self.shot.names if s.name.startswith(prefix)]
        if numbers:
            self.shot.holders.append(Held(name, "slot", count, min(numbers), chain, self.function))


def _direct_first(names: dict[str, Any]) -> list[tuple[str, Any]]:
    """An object is named once: as the `model` that it is, not as what a `trainer` holds."""
    return sorted(names.items(), key=lambda item: not isinstance(item[1], _DIRECT))


def _parts(value: Any, shot: Snapshot, name: str) -> Iterator[tuple[str, Any, str]]:
    """What an object holds: (as the source writes it, the value, its kind)."""
    if isinstance(value, torch.optim.Optimizer):
        shot.optimizers.append((name, value))
        return
    if isinstance(value, torch.nn.Module):
        own = {k: v for k, v in vars(value).items() if k not in _MODULE_INTERNALS}
        for key, inner in (own | value._buffers | value._modules).items():
            yield f"{name}.{key}", inner, "attribute"
    elif isinstance(value, FunctionType):
        # What a closure or a generator holds goes by its own name, not by that of its holder.
        for key, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
            try:
                yield key, cell.cell_contents, "cell"
            except ValueError:
                continue
    elif isinstance(value, MethodType):
        yield f"{name}.__self__", value.__self__, "attribute"
    elif isinstance(value, GeneratorType):
        frame = value.gi_frame
        if frame is not None:
            local = frame.f_locals
            yield from [(key, inner, "local") for key, inner in local.items()]
            if sys.version_info < (3, 13):
                local.clear()
    elif _is_users(type(value)):
        fields = getattr(value, "__dict__", None)
        for key, inner in list(fields.items()) if isinstance(fields, dict) else ():
            yield f"{name}.{key}", inner, "attribute"
        for key in getattr(type(value), "__slots__", ()) or ():
            if isinstance(key, str):
                try:
                    yield f"{name}.{key}", object.__getattribute__(value, key), "attribute"
                except AttributeError:
                    continue


@cache
def _is_users(kind: type) -> bool:
    home = kind.__module__ or ""
    top = home.partition(".")[0]
    if home.startswith(_HOLDERS):
        return True
    return top not in _LIBRARIES and (top not in sys.stdlib_module_names or home in ("types", "argparse"))
