# SPDX-License-Identifier: BSD-3-Clause
"""Which of the user's names hold tensors with history: numbers only, never a reference.

Looked at are the locals of the user's frames, the globals of their modules, attributes of objects, slots of containers,
cells of closures and the frames of generators, a few levels deep and within a budget.

NOTE [ Nobody is called ]
Looking runs no code of the user's: types are asked instead of values (`__class__` may be a property), containers are
read
with the methods of list, tuple, dict..., attributes from `__dict__` and slots. A lazy object stays lazy.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from inspect import CO_OPTIMIZED
from itertools import islice
from types import CodeType, FrameType, ModuleType
from typing import Any

import torch

from .graph import room, spent, walk
from .parts import fields_of, local, neighbours, parts
from .walks import kept_bytes

__all__ = ["Seen", "Snapshot", "look"]

_DEPTH = 5
_BUDGET = 4000
_WALK = 2000
_MEASURED = (4, 8, 16)
_ENDS = 6
_SEQUENCES: tuple[Any, ...] = (list, tuple, deque, set, frozenset)
_SUMS = ("Add", "Sub", "Cat", "Stack", "Lerp")
_SCALED = (*_SUMS, "Mul", "Div", "Neg", "Rsub")
_TERMS = 12
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
_HOOKED = 256
_PLAIN = (int, float, str, bytes, bool, complex, type(None), type, range, slice, ModuleType, torch.dtype, torch.device)
_DIRECT = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)


@dataclass(slots=True)
class Seen:
    """A name, and the node behind its tensor."""

    name: str
    kind: str
    number: int
    spent: bool | None
    function: str
    parents: tuple[int, ...] = ()
    """Numbers of the nodes behind it, for sums and scalings: a running sum shows as a chain."""
    single: bool = True
    """Whether it has one element."""


@dataclass(slots=True)
class Held:
    """A container with history in it."""

    name: str
    kind: str
    count: int
    oldest: int
    chain: tuple[str, ...]
    function: str
    nodes: int | None = None
    """Nodes behind its last tensor, where they were counted."""
    bytes: int | None = None
    """Bytes of the buffers that those still hold."""
    single: bool = True
    """Whether the tensors in it have one element each."""


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
        self.last: Any = None
        """The node behind the last tensor with history; gone with this object when the look is over."""

    def frames(self, frames: list[FrameType]) -> Snapshot:
        modules = []
        for frame in frames:
            self.frame(frame)
            if frame.f_globals not in modules:
                modules.append(frame.f_globals)
        modules += neighbours(modules)
        for names in modules:
            self.function = "<module>"
            for name, value in _direct_first(names):
                if not name.startswith("__"):
                    self.value(name, value, "global", 1, (name,))
        self.hooks()
        return self.shot

    def hooks(self) -> None:
        """What hooks hold goes by the names that others have for it; so they come last."""
        for name, module in self.shot.modules[:_HOOKED]:
            for kind in _HOOKS:
                found = fields_of(module).get(kind)
                if isinstance(found, dict) and found:
                    self.mapping(f"{name}.{kind}", found, 1, (name, kind))

    def frame(self, frame: FrameType) -> None:
        code = frame.f_code
        self.function = code.co_qualname.replace("<locals>.", "")
        if not code.co_flags & CO_OPTIMIZED:
            # A module, a class body or `exec`: the names are in a dict of the user's own.
            if frame.f_locals is not frame.f_globals:
                self.names(frame.f_locals, code)
            return
        with local(frame) as names:
            self.names(names, code)

    def names(self, names: Any, code: CodeType) -> None:
        for name, value in _direct_first(names):
            self.value(name, value, "cell" if name in code.co_freevars else "local", 0, (name,))

    def value(self, name: str, value: Any, kind: str, depth: int, chain: tuple[str, ...]) -> bool:
        """Looks at one value; says whether it holds history."""
        # The type is asked and not the value, whose `__class__` may be the user's code; see NOTE [ Nobody is called ].
        type_ = type(value)
        if issubclass(type_, _PLAIN):
            return False
        if issubclass(type_, torch.Tensor):
            return self.tensor(name, value, kind)
        if depth > _DEPTH or self.left <= 0:
            return False
        self.left -= 1
        if issubclass(type_, (list, tuple, deque, set, frozenset)):
            return self.sequence(name, value, kind, depth, chain)
        if issubclass(type_, dict):
            return self.mapping(name, value, depth, chain)
        if id(value) in self.seen:
            return False
        self.seen.add(id(value))
        held = False
        if issubclass(type_, torch.nn.Module) and "_parameters" in fields_of(value):
            self.shot.modules.append((name, value))
        for full, inner, how in parts(value, name, self.shot.optimizers):
            held |= self.value(full, inner, how, depth + 1, (*chain, full.removeprefix(name)))
        return held

    def tensor(self, name: str, value: torch.Tensor, kind: str) -> bool:
        try:
            node = value.grad_fn
        except RuntimeError:  # a view whose base was changed in a way that PyTorch forbids
            return False
        if node is None:
            if self.tensors is not None:
                self.tensors.setdefault(name, value)
            return False
        self.last = node
        seen = Seen(name, kind, node._sequence_nr(), spent(node), self.function, _summed(node), _is_single(value))
        self.shot.names.append(seen)
        if self.tensors is not None:
            self.tensors.setdefault(name, value)
        return True

    def sequence(self, name: str, value: Any, kind: str, depth: int, chain: tuple[str, ...]) -> bool:
        base = next(b for b in _SEQUENCES if issubclass(type(value), b))
        size = base.__len__(value)
        if not size or id(value) in self.seen:
            return False
        self.seen.add(id(value))
        if base in (set, frozenset):
            if size > 10 * _BUDGET:
                return False
            items: Any = list(base.__iter__(value))
            item = items.__getitem__
        else:
            item = partial(base.__getitem__, value)
        # Numbers at both ends of a long one: numbers all the way. (A short one may be a record.)
        ends = (type(item(0)), type(item(-1))) if size > _ENDS else ()
        if ends and all(issubclass(t, (int, float, str)) for t in ends):
            return False
        places = range(size) if size <= 2 * _ENDS else [*range(_ENDS), *range(size - _ENDS, size)]
        # A tuple is several values under one name, not something that things are put into.
        inner = kind if base is tuple else "slot"
        held = []
        try:
            for i in places:
                held.append(self.slot(f"{name}[{i}]", item(i), depth, chain, inner))
        except IndexError:  # another thread has taken something out
            return any(held)
        # A deque with a limit forgets by itself.
        if any(held) and base is not tuple and not (base is deque and value.maxlen is not None):
            self.holding(name, sum(held) if size <= 2 * _ENDS else size * sum(held) // len(held), chain)
        return any(held)

    def mapping(self, name: str, value: dict[Any, Any], depth: int, chain: tuple[str, ...]) -> bool:
        size = dict.__len__(value)
        if not size or id(value) in self.seen:
            return False
        self.seen.add(id(value))
        held = 0
        for key, inner in list(islice(dict.items(value), 64)):
            shown = f'"{key}"' if type(key) is str else repr(key) if _is_simple(key) else "..."
            held += self.slot(f"{name}[{shown}]", inner, depth, chain)
        if held:
            self.holding(name, held if size <= 64 else held * size // 64, chain)
        return bool(held)

    def slot(self, name: str, value: Any, depth: int, chain: tuple[str, ...], kind: str = "slot") -> bool:
        if issubclass(type(value), torch.Tensor):
            return self.tensor(name, value, kind)
        return self.value(name, value, kind, depth + 1, chain)

    def holding(self, name: str, count: int, chain: tuple[str, ...]) -> None:
        prefix = name + "["
        inside = [s for s in self.shot.names if s.name.startswith(prefix)]
        if chain[1:2] and chain[1] in _HOOKS and any(h.name == name for h in self.shot.holders):
            # Another hook of the same function, with a container of its own: counted by the hooks.
            hooks = next((h for h in self.shot.holders if h.name == name and h.kind == "hooks"), None)
            if hooks is None:
                hooks = Held(name, "hooks", 1, min(s.number for s in inside), chain, self.function, single=False)
                self.shot.holders.append(hooks)
            hooks.count += 1
        elif inside:
            single = all(s.single for s in inside)
            held = Held(name, "slot", count, min(s.number for s in inside), chain, self.function, single=single)
            # What one more tensor costs is measured now and then only: it takes a walk.
            graph = walk([self.last], min(_WALK, room() // 4)) if self.last is not None and count in _MEASURED else None
            if graph is not None:
                held.nodes, held.bytes = len(graph), kept_bytes(graph)
            self.shot.holders.append(held)


def _summed(node: Any) -> tuple[int, ...]:
    """Numbers of the nodes that a value is a sum of, scaled or not: `mean = 0.9 * mean + 0.1 * x` is made of `mean`."""
    if not node.name().startswith(_SCALED):
        return ()
    found: list[int] = []
    todo = [node]
    while todo and len(found) < _TERMS:
        for term, _ in todo.pop(0).next_functions:
            if term is not None:
                found.append(term._sequence_nr())
                if term.name().startswith(_SCALED):
                    todo.append(term)
    return tuple(found)


def _direct_first(names: dict[str, Any]) -> list[tuple[str, Any]]:
    """An object is named once: as the `model` that it is, not as what a `trainer` holds."""
    return sorted(names.items(), key=lambda item: not issubclass(type(item[1]), _DIRECT))


def _is_single(value: torch.Tensor) -> bool:
    try:
        return value.numel() == 1
    except RuntimeError:  # a size that only a run would tell
        return False


def _is_simple(key: Any) -> bool:
    return type(key) is int or (type(key) is tuple and all(type(k) in (int, str) for k in key))
