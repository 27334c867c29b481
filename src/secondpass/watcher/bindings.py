# SPDX-License-Identifier: BSD-3-Clause
"""Which paths of the user's lead to tensors with history: numbers and types only, never a reference.

Looked at are the locals of the user's frames, the globals of their modules, attributes of objects, slots of containers,
cells of closures and the frames of generators, a few levels deep and within a budget.

NOTE [ Nobody is called ]
Looking runs no code of the user's: types are asked instead of values (`__class__` may be a property), containers are
read with the methods of list, tuple, dict..., attributes from `__dict__` and slots. A lazy object stays lazy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch

from ..record import Path, Way
from ..torchgraph import freed, saved_bytes, touchable, walk
from .objects import fields_of, is_foreign, local, neighbours, parts

__all__ = ["Barren", "Held", "Seen", "Snapshot", "Trail", "look"]

_DEPTH = 5
_BUDGET = 4000
_PARTS = 8
_WALK = 2000
_MEASURED = (4, 8, 16)
_ENDS = 6
_SEQUENCES: tuple[Any, ...] = (list, tuple, deque, set, frozenset)
_SUMS = ("Add", "Sub", "Cat", "Stack", "Lerp")
_SCALED = (*_SUMS, "Mul", "Div", "Neg", "Rsub")
_TERMS = 12
_IN_VAIN, _SELDOM = 3, 16
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
_HOOKED = 256
_PLAIN = (int, float, str, bytes, bool, complex, type(None), type, range, slice, ModuleType, torch.dtype, torch.device)
_DIRECT = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)


class Trail(NamedTuple):
    """A path before anybody has asked for it: see `record.Path`."""

    root: str
    scope: str
    type: str
    ways: tuple[tuple[str, str, str], ...] = ()

    def then(self, kind: str, key: str, value: Any) -> Trail:
        return Trail(self.root, self.scope, self.type, (*self.ways, (kind, key, _type(value))))

    def type_of_end(self) -> str:
        return self.ways[-1][2] if self.ways else self.type

    def path(self) -> Path:
        return Path(self.root, self.scope, tuple(Way(*w) for w in self.ways), self.type)  # type: ignore[arg-type]

    def spelled(self) -> str:
        return str(self.path())


def _type(value: Any) -> str:
    kind = type(value)
    if issubclass(kind, tuple) and kind is not tuple:
        return "NamedTuple"
    if issubclass(kind, torch.utils.data.Dataset):
        return "Dataset"
    return str(type.__getattribute__(kind, "__name__"))


@dataclass(slots=True)
class Seen:
    """A path, and the node behind the tensor at its end."""

    trail: Trail
    number: int
    freed: bool | None
    function: str
    terms: tuple[int, ...] = ()
    """Numbers of the nodes behind it, for sums and scalings: a running sum shows as a chain."""
    single: bool = True
    """Whether it has one element."""
    leaves: tuple[int, ...] = ()
    """See `record.Binding`."""
    nodes: int | None = None
    """Nodes behind it, where they were counted: now and then, of sums only."""
    bytes: int | None = None
    """Bytes of the saved tensors that those still hold."""


@dataclass(slots=True)
class Held:
    """A container with history in it."""

    trail: Trail
    count: int
    numbers: tuple[int, ...]
    function: str
    nodes: int | None = None
    """Nodes behind its last tensor, where they were counted."""
    bytes: int | None = None
    """Bytes of the saved tensors that those still hold."""
    single: bool = True
    """Whether the tensors in it have one element each."""
    hooks: int | None = None
    bare: int = 0
    """Tensors without history in it, as far as was looked."""
    within: bool = False
    """Whether they lie in tuples or records that were put into it as a whole."""


@dataclass(slots=True)
class Snapshot:
    """What was seen at one moment."""

    names: list[Seen] = field(default_factory=list)
    holders: list[Held] = field(default_factory=list)
    optimizers: list[tuple[str, Any]] = field(default_factory=list)
    """Names and optimizers, for use at once: whoever keeps the snapshot empties the list."""
    players: dict[str, Any] = field(default_factory=dict)
    """The optimizers in what single names of the frames hold, seen before or not (`player.optimizer`): a loop may go over them."""
    modules: list[tuple[str, Any]] = field(default_factory=list)
    leaves: list[tuple[str, Any]] = field(default_factory=list)
    """Tensors that require a gradient themselves, and that no module has: names that lead straight to a parameter."""
    """Names and modules, likewise."""
    whole: bool = True
    """Whether everything in reach was looked at: False where the budget ran out."""


class Barren:
    """Kinds of frameworks' objects that lead to nothing of the user's, as far as was seen: a test runner's, say. Those are
    looked into now and then only."""

    def __init__(self) -> None:
        self._looks = 0
        self._in_vain: WeakKeyDictionary[type, int] = WeakKeyDictionary()
        """How often running nothing was found in one of them."""

    def begins(self) -> None:
        self._looks += 1

    def worth(self, kind: type) -> bool:
        return self._in_vain.get(kind, 0) < _IN_VAIN or self._looks % _SELDOM == 0

    def seen(self, kind: type, found: bool) -> None:
        self._in_vain[kind] = 0 if found else self._in_vain.get(kind, 0) + 1


def look(
    frames: list[FrameType],
    tensors: dict[str, Any] | None = None,
    hosts: list[FrameType] | None = None,
    is_own: Callable[[type], bool] | None = None,
    containers: dict[int, str] | None = None,
    *,
    measure: bool = False,
    alone: bool = True,
    barren: Barren | None = None,
    within: Any = None,
) -> Snapshot:
    """Takes a snapshot. `tensors`, when given, receives name -> tensor for use before anything else runs; `containers` the
    names of what was looked into, by identity. `hosts` are the frames of frameworks (see `Files.hosts`): what they work on is
    looked into as well, and `is_own` says whether it is of a class of the user's. `measure` counts what is behind sums: a
    running sum is told by its numbers, and what it costs by this. Where other threads make passes too (not `alone`), nothing
    that nodes have saved is read: the engine may be freeing it at this very moment. `barren` learns which objects of frameworks
    are not worth looking into, and spares them. `within` is the node whose backward makes the pass: what it runs again (a
    checkpointed function) may hold tensors that no frame leads to."""
    with torch._C.DisableTorchFunction():
        one = _Look(tensors, is_own or (lambda kind: True), containers, measure, alone)
        shot = one.frames(frames, hosts or [], barren or Barren())
        one.run_again(within)
        return shot


class _Look:
    def __init__(
        self,
        tensors: Any,
        is_own: Callable[[type], bool],
        containers: dict[int, str] | None = None,
        measure: bool = False,
        alone: bool = True,
    ) -> None:
        self.is_own, self.containers, self.measure, self.alone = is_own, containers, measure and alone, alone
        self.shot = Snapshot()
        self.seen: dict[int, int] = {}
        """What was looked into, and how deep it lay where something below it was too deep to be looked at: a shorter way
        may lead to it yet. 0 where nothing was."""
        self.cut = 0
        """How often something was too deep."""
        self.left = _BUDGET
        self.tensors = tensors
        self.function = ""
        self.hooked = False
        """Whether it is the modules' hooks that are being looked into."""
        self.hosting = False
        """Whether it is a framework's own objects that are being looked into: the ways through them are nobody's names."""
        self.hosted = False
        """Whether a framework is at work."""
        self.foreign = False
        """Whether the way here led through an object of another library's."""
        self.selves: set[type] = set()
        """Classes of the user's one of whose objects goes by `self`."""
        self.last: Any = None
        """The node behind the last tensor with history; gone with this object when the look is over."""

    def frames(self, frames: list[FrameType], hosts: list[FrameType], barren: Barren) -> Snapshot:
        self.hosted = bool(hosts)
        barren.begins()
        modules: list[dict[str, Any]] = []
        for frame in frames:
            self.frame(frame)
            if not any(frame.f_globals is m for m in modules):
                modules.append(frame.f_globals)
        modules += neighbours(modules)
        objects = _worked_on(hosts)
        self.function = "<module>"
        for direct in (True, False):
            for names in modules:
                for name, value in list(names.items()):
                    if _is_bare(value) or name.startswith("__") or issubclass(type(value), _DIRECT) is not direct:
                        continue
                    self.value(Trail(name, "global", _type(value)), value, 1)
            for value in objects:
                # What is of a class of the user's goes by the name that it has there; what a framework made, by its kind.
                if self.is_own(type(value)) is direct and (direct or barren.worth(type(value))):
                    self.hosting = not direct
                    self.selves.add(type(value))
                    before = self.found()
                    self.value(Trail("self" if direct else _type(value).lower(), "global", _type(value)), value, 1)
                    barren.seen(type(value), self.found() > before)
        self.hosting = False
        self.hooks()
        self.shot.whole = self.left > 0
        return self.shot

    def run_again(self, node: Any) -> None:
        """What the functions that a node keeps hold goes by its own name there; of an object, by that of its methods."""
        self.left = max(self.left, _BUDGET // 8)
        for key, value in fields_of(node).items():
            kind = type(value)
            if kind is MethodType:
                self.value(Trail("self", "global", _type(value.__self__)), value.__self__, 0)
            elif issubclass(kind, torch.nn.Module):
                self.value(Trail("self", "global", _type(value)), value, 0)
            elif kind in (FunctionType, partial):
                self.function = getattr(value, "__qualname__", key).replace("<locals>.", "")
                self.value(Trail(key, "cell", _type(value)), value, 0)

    def found(self) -> int:
        """How much was found so far."""
        return len(self.shot.names) + len(self.shot.modules) + len(self.shot.optimizers)

    def hooks(self) -> None:
        """What hooks hold goes by the names that others have for it; so they come last."""
        self.hooked = True
        for name, module in self.shot.modules[:_HOOKED]:
            for kind in _HOOKS:
                found = fields_of(module).get(kind)
                if isinstance(found, dict) and found:
                    trail = Trail(name, "global", _type(module)).then("attribute", kind, found)
                    self.mapping(trail, found, 1)

    def frame(self, frame: FrameType) -> None:
        code = frame.f_code
        self.function = code.co_qualname.replace("<locals>.", "")
        with local(frame) as names:
            if names is not frame.f_globals:
                self.names(names, code)
            for name, value in list(names.items()):
                if issubclass(type(value), tuple) or self.is_own(type(value)):
                    self.player(name, value)

    def player(self, name: str, value: Any) -> None:
        """The optimizer of somebody who has one."""
        held = (
            enumerate(tuple.__iter__(value)) if issubclass(type(value), tuple) else ((k, v) for _, k, v in parts(value))
        )
        for key, one in islice(held, _PARTS):
            if issubclass(type(one), torch.optim.Optimizer):
                self.shot.players[f"{name}.{key}"] = one

    def names(self, names: Any, code: CodeType) -> None:
        for name, value in _direct_first(names):
            self.value(Trail(name, "cell" if name in code.co_freevars else "local", _type(value)), value, 0)

    def value(self, trail: Trail, value: Any, depth: int) -> bool:
        """Looks at one value; says whether it holds history."""
        # The type is asked and not the value, whose `__class__` may be the user's code; see NOTE [ Nobody is called ].
        type_ = type(value)
        if issubclass(type_, _PLAIN):
            return False
        if issubclass(type_, torch.Tensor):
            return self.tensor(trail, value)
        if depth > _DEPTH or self.left <= 0:
            self.cut += 1
            return False
        self.left -= 1
        if issubclass(type_, torch.optim.Optimizer):  # seen before, it may have had no name there
            self.optimizer(trail, value)
            return False
        if self.seen.get(id(value), depth + 1) <= depth:
            return False
        self.seen[id(value)] = 0  # it may lie in itself
        cut = self.cut
        if issubclass(type_, (list, tuple, deque, set, frozenset)):
            held = self.sequence(trail, value, depth)
        elif issubclass(type_, dict):
            held = self.mapping(trail, value, depth)
        else:
            held = self.object(trail, value, depth)
        if self.cut > cut:
            self.seen[id(value)] = depth
        return held

    def object(self, trail: Trail, value: Any, depth: int) -> bool:
        held, type_, outer = False, type(value), self.foreign
        if self.hosted:
            trail = self.entered(trail, type_)
        if issubclass(type_, torch.nn.Module) and "_parameters" in fields_of(value):
            self.shot.modules.append((trail.spelled(), value))
        for kind, key, inner in parts(value):
            # What a closure or a generator holds goes by its own name, not by that of its holder.
            further = Trail(key, kind, _type(inner)) if kind in ("cell", "local") else trail.then(kind, key, inner)
            held |= self.value(further, inner, depth + 1)
        self.foreign = outer
        return held

    def entered(self, trail: Trail, kind: type) -> Trail:
        """The trail to an object that is being looked into. What a framework holds for the user is not called by the way
        through the framework, which nobody writes, but as the methods of its class call it."""
        if not self.is_own(kind):
            self.foreign |= is_foreign(kind)
        elif self.foreign:
            self.foreign = False
            if kind not in self.selves:
                self.selves.add(kind)
                return Trail("self", "global", trail.type_of_end())
        return trail

    def optimizer(self, trail: Trail, value: Any) -> None:
        inside = []
        if not self.is_own(type(value)):
            inside = [v for v in fields_of(value).values() if issubclass(type(v), torch.optim.Optimizer)]
        for inner in inside:  # it is this one that steps, and not what a framework has put around it
            if inner is not value:
                self.optimizer(trail, inner)
        if not inside:
            # A way through what a framework keeps to itself is no name.
            private = self.hosting or any(key.startswith("_") for _, key, _ in trail.ways)
            known = next((k for k, (_, o) in enumerate(self.shot.optimizers) if o is value), None)
            if known is None:
                self.shot.optimizers.append(("" if private else trail.spelled(), value))
            elif not private and not self.shot.optimizers[known][0]:
                self.shot.optimizers[known] = trail.spelled(), value

    def tensor(self, trail: Trail, value: torch.Tensor) -> bool:
        try:
            node = value.grad_fn
        except RuntimeError:  # a view whose base was changed in a way that PyTorch forbids
            return False
        if self.tensors is not None:
            self.tensors.setdefault(trail.spelled(), value)
        if node is None:
            if value.requires_grad:
                self.shot.leaves.append((trail.spelled(), value))
            return False
        self.last = node
        seen = Seen(
            trail,
            node._sequence_nr(),
            freed(node) if self.alone else None,
            self.function,
            _summed(node),
            _is_single(value),
        )
        self.shot.names.append(seen)
        if self.measure and node.name().startswith(_SCALED):
            graph = walk([node], min(_WALK, touchable() // 4))
            if graph is not None:
                seen.nodes, seen.bytes = len(graph), saved_bytes(graph)
        return True

    def sequence(self, trail: Trail, value: Any, depth: int) -> bool:
        base = next(b for b in _SEQUENCES if issubclass(type(value), b))
        size = base.__len__(value)
        if not size:
            return False
        if self.containers is not None:
            self.containers[id(value)] = trail.spelled()
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
        fields = getattr(type(value), "_fields", None) if base is tuple else None
        before, held, bare = len(self.shot.names), [], 0
        try:
            for i in places:
                inner = item(i)
                bare += issubclass(type(inner), torch.Tensor)
                if isinstance(fields, tuple) and i < len(fields):
                    held.append(self.value(trail.then("attribute", str(fields[i]), inner), inner, depth + 1))
                else:
                    held.append(self.value(trail.then("item", str(i), inner), inner, depth + 1))
        except IndexError:  # another thread has taken something out
            return any(held)
        # A tuple is several values under one name; a deque with a limit forgets by itself.
        if any(held) and base is not tuple and not (base is deque and value.maxlen is not None):
            self.holding(trail, sum(held) if size <= 2 * _ENDS else size * sum(held) // len(held), before)
            if self.shot.holders and self.shot.holders[-1].trail == trail:
                self.shot.holders[-1].bare = max(bare - sum(held), 0)
        return any(held)

    def mapping(self, trail: Trail, value: dict[Any, Any], depth: int) -> bool:
        size = dict.__len__(value)
        if not size:
            return False
        if self.containers is not None:
            self.containers[id(value)] = trail.spelled()
        held, before = 0, len(self.shot.names)
        for key, inner in list(islice(dict.items(value), 64)):
            shown = f'"{key}"' if type(key) is str else repr(key) if _is_simple(key) else "..."
            held += self.value(trail.then("item", shown, inner), inner, depth + 1)
        if held:
            self.holding(trail, held if size <= 64 else held * size // 64, before)
        return bool(held)

    def holding(self, trail: Trail, count: int, before: int) -> None:
        inside = self.shot.names[before:]
        if not inside or any(key in _HOOKS for _, key, _ in trail.ways):
            return
        like = next((h for h in self.shot.holders if h.hooks is not None and h.trail == trail), None)
        if self.hooked and like is not None:
            like.hooks = (like.hooks or 0) + 1  # another hook of the same function, with a container of its own
            return
        held = Held(trail, count, tuple(s.number for s in inside), self.function, single=all(s.single for s in inside))
        held.hooks = 1 if self.hooked else None
        # What an object in it holds may go by a name of its own.
        below = (s.trail.ways for s in inside if s.trail.ways[: len(trail.ways)] == trail.ways != s.trail.ways)
        held.within = any(_is_in_record(ways[len(trail.ways) :]) for ways in below)
        # What one more tensor costs is measured now and then only: it takes a walk.
        graph = (
            walk([self.last], min(_WALK, touchable() // 4))
            if self.last is not None and count in _MEASURED and self.alone
            else None
        )
        if graph is not None:
            held.nodes, held.bytes = len(graph), saved_bytes(graph)
        self.shot.holders.append(held)


def _summed(node: Any) -> tuple[int, ...]:
    """Numbers of the nodes that a value was made of in one operation (`best = minimum(best, x)`), and of those that it is a sum
    of, scaled or not: `mean = 0.9 * mean + 0.1 * x` is made of `mean`."""
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


def _worked_on(hosts: list[FrameType]) -> list[Any]:
    """What functions of frameworks work on: their first argument, `self` mostly. The outermost has the whole of it."""
    found: dict[int, Any] = {}
    for frame in reversed(hosts):
        with local(frame) as names:
            value = names.get(frame.f_code.co_varnames[0])
        if not issubclass(type(value), (torch.Tensor, *_PLAIN, *_SEQUENCES, dict)):
            found.setdefault(id(value), value)
    return list(found.values())


def _is_in_record(ways: tuple[tuple[str, str, str], ...]) -> bool:
    """Whether the way from a container to a tensor in it leads through a tuple, or ends at an attribute."""
    return any(kind in ("tuple", "NamedTuple") for _, _, kind in ways[:-1]) or ways[-1][0] == "attribute"


def _is_single(value: torch.Tensor) -> bool:
    try:
        return value.numel() == 1
    except RuntimeError:  # a size that only a run would tell
        return False


def _is_bare(value: Any) -> bool:
    """Whether nothing can be held by a value: most names of a module are those of numbers, classes and functions."""
    kind = type(value)
    if kind is FunctionType:
        return not (value.__closure__ or value.__defaults__ or value.__kwdefaults__ or value.__dict__)
    return kind is BuiltinFunctionType or issubclass(kind, _PLAIN)


def _is_simple(key: Any) -> bool:
    return type(key) is int or (type(key) is tuple and all(type(k) in (int, str) for k in key))
