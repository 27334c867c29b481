# SPDX-License-Identifier: BSD-3-Clause
"""Reading graphs into a ledger.

NOTE [ What a ledger counts ]
1. Memory is counted by storage, once, for the node that saved it first. A tensor without a storage of its own (sparse, a
   wrapper) counts its elements.
2. A memory is `saved` when the graph alone keeps it: it goes when the graph goes. Leaves that require a gradient and
   `nn.Parameter`s are parameters. What has no history, and has other holders than the graph (PyTorch counts them), is a
   `buffer` of a module in sight, or an `input`. A mask that only the graph holds is saved, though no operation made it.
3. The holder is the oldest tensor in sight that has the node in its history: it alone would keep it.
4. What is read refers to the user's tensors until `take` returns; rows hold numbers and names.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any

import torch
from torch.autograd.graph import GradientEdge

from ..torchgraph import (
    LEAF,
    attributes,
    checkpoint_of,
    hook_region,
    is_leaf,
    node_of,
    region_of,
    saved_tensors,
    slots,
    storage,
    touchable,
    walk_young,
)
from ..watcher.bindings import Snapshot, look
from ..watcher.files import Files
from ..watcher.watcher import Watcher
from .ledger_rows import Ledger
from .node_origin import Entry, Origin

__all__ = ["Reading", "take", "watching", "without_collection"]

_OWN = ("result", "output")
"""What PyTorch calls a node's own outputs where the node saves them: they are values with history, though what is saved of
them has none."""
_BY_PYTHON = ("ctx.", "keyword ", "random state")
"""What the graph itself holds through objects of Python's."""
_DEEP = 3
_USUALLY = 3


def take(loss: Any, frame: FrameType | None) -> Ledger:
    """See `secondpass.ledger`."""
    watcher = watching()
    with torch._C.DisableTorchFunction(), without_collection():
        given = None if loss is None else _tensors(loss)
        files = watcher.files if watcher else Files()
        reading = Reading(given, files.frames(frame), watcher, files.hosts(frame))
        rows = Origin(watcher).rows(reading.entries)
        return Ledger(tuple(rows), len(reading.graph), reading.complete, tuple(reading.notes))


@contextmanager
def without_collection() -> Iterator[None]:
    """Many small objects are made and dropped: the collector would walk the whole heap for them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def watching() -> Watcher | None:
    """The watcher that is in place, that of `secondpass run` before others: it knows lines."""
    found: list[Watcher] = []
    entrance: Any = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
    while (watcher := getattr(entrance, "watcher", None)) is not None:
        found.append(watcher)
        entrance = watcher.original
    return next((w for w in found if w.log is not None), found[0] if found else None)


def _tensors(loss: Any) -> list[Any]:
    """What was given, as a list of tensors and gradient edges."""
    todo, found = [loss], []
    while todo:
        value = todo.pop()
        if isinstance(value, (torch.Tensor, GradientEdge)):
            found.append(value)
        elif isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, (list, tuple, set)):
            todo += value
        else:
            raise TypeError(
                f"a ledger is read behind tensors: a loss, or several in a list or a dict (got {type(value).__name__}). "
                "Without an argument it lists what every live tensor holds."
            )
    if not found:
        raise ValueError("there is no tensor in what was given: nothing to list")
    return found


class Reading:
    """The graphs behind some tensors, read once."""

    def __init__(
        self,
        given: list[Any] | None,
        frames: list[FrameType],
        watcher: Watcher | None,
        hosts: list[FrameType] | None = None,
    ) -> None:
        self.notes: list[str] = []
        self.entries: list[Entry] = []
        self.graph: dict[Any, tuple[Any, ...]] = {}
        self.complete = True
        self.single: dict[str, bool] = {}
        """Of containers with history: whether their tensors have one element each."""
        self.modules: tuple[str, ...] = ()
        """Names of the modules in sight that are part of no other, as the user has them."""
        self.evaluating: bool | None = None
        """Whether every module in sight is set to evaluate; None where there is none."""
        tensors: dict[str, Any] = {}
        containers: dict[int, str] = {}
        shot = look(frames, tensors, hosts, watcher.files.is_own if watcher else None, containers)
        self.single = {h.trail.spelled(): h.single for h in shot.holders}
        paths = [name for name, _ in shot.modules]
        self.modules = tuple(n for n in paths if not any(n.startswith((o + ".", o + "[")) for o in paths))
        training = [bool(m.training) for _, m in shot.modules]
        self.evaluating = not any(training) if training else None
        if given is None:
            named = {id(t): name for name, t in tensors.items()}
            held = _live()
            roots = [(t, named.get(id(t))) for t in held]
            self._name_unnamed(roots, containers, held)
            if not roots:
                self.notes.append("no live tensor has a history: nothing is saved for a pass")
        else:
            names = {id(t): name for name, t in tensors.items()}
            roots = [(t, names.get(id(t), "what was given")) for t in given]
            roots += [(t, name) for name, t in tensors.items() if t.grad_fn is not None]
            if all(node_of(t) is None for t in given):
                self.notes.append(_without_history(given))
        wanted = [n for t in (given if given is not None else [t for t, _ in roots]) if (n := _node(t)) is not None]
        self.graph = walk_young(dict.fromkeys(wanted), touchable())
        self.complete = all(p in self.graph for parents in self.graph.values() for p in parents)
        if not self.complete:
            self.notes.append(
                f"there are more than {len(self.graph):,} nodes: listed is what the youngest {len(self.graph):,} of them hold"
            )
        self._read(roots, shot, {storage(t) for t in tensors.values() if t.grad_fn is not None})

    def _name_unnamed(self, roots: list[tuple[Any, str | None]], containers: dict[int, str], held: list[Any]) -> None:
        """Tensors deep in a long container are not looked at one by one: they go by the container's name."""
        unnamed = {id(t): k for k, (t, name) in enumerate(roots) if name is None}
        if not unnamed or not containers:
            return
        for holder in gc.get_referrers(*(roots[k][0] for k in unnamed.values())):
            name = containers.get(id(holder))
            if name is None or holder is held or holder is roots:
                continue
            values: Iterable[Any] = dict.values(holder) if isinstance(holder, dict) else holder
            for value in list(values):
                k = unnamed.get(id(value))
                if k is not None and roots[k][1] is None:
                    roots[k] = (value, f"{name}[...]")

    # -- reading -----------------------------------------------------------------------------------------------------

    def _read(self, roots: Sequence[tuple[Any, str | None]], shot: Snapshot, alive: set[int]) -> None:
        modules = _Modules(shot)
        holders = self._holders(roots)
        leaves = self._leaves()
        known: dict[Any, Entry] = {}
        holds: dict[Any, set[int]] = {}
        """By memory: the tensors in the graph that lie in it (identities of their implementations)."""
        made: set[Any] = set(alive)
        """Memory that operations with history made."""
        outer: dict[Any, torch.Tensor] = {}
        referred: dict[Any, int] = {}
        """By memory: references of Python's that the graph's own objects have."""
        frames: set[int] = set()
        ordered = sorted((n for n in self.graph if not is_leaf(n)), key=lambda n: n._sequence_nr())
        for node in ordered:
            for slot, tensor, region in _held(node, frames):
                if tensor is None:
                    self._empty(node, slot, region, holders.get(node), modules.owner(self.graph, node))
                    continue
                key, size = _memory(tensor)
                entry = known.get(key)
                if entry is not None:
                    entry.shared += 1
                else:
                    entry = known[key] = Entry(_number(node), node.name(), slot, region)
                    entry.holder, entry.owner = holders.get(node), modules.owner(self.graph, node)
                    _describe(entry, tensor, size)
                    self.entries.append(entry)
                    entry.kind = leaves.get(key) or ("parameter" if _is_parameter(tensor) else "saved")
                    outer[key] = tensor
                if entry.kind == "saved":
                    holds.setdefault(key, set()).update(_implementations(tensor))
                    if tensor is outer[key]:
                        referred[key] = referred.get(key, 0) + slot.startswith(_BY_PYTHON)
                    if tensor.grad_fn is not None or slot.removeprefix("_saved_").startswith(_OWN):
                        made.add(key)
        tensor = None  # it would count as a holder of the last one
        for key, entry in known.items():
            if entry.kind == "saved" and entry.region in (None, "compiled", "checkpoint") and key not in made:
                # Another tensor in the same memory, or another reference to the same tensor.
                others = isinstance(key, int) and _holders_of(outer[key]) > len(holds[key])
                base = {0: outer[key]._base}
                most = max(sys.getrefcount(outer[key]), base[0] is not None and sys.getrefcount(base[0]))
                if others or most > _alone() + referred[key]:
                    entry.kind = "buffer" if key in modules.buffers else "input"

    def _empty(self, node: Any, slot: str, region: str | None, holder: str | None, owner: str | None) -> None:
        entry = Entry(_number(node), node.name(), slot, region)
        entry.holder, entry.owner = holder, owner
        if region is None:
            entry.state = "freed"
        self.entries.append(entry)

    def _leaves(self) -> dict[Any, str]:
        found: dict[Any, str] = {}
        for node in self.graph:
            if is_leaf(node) and (variable := node.variable) is not None:
                found[storage(variable)] = "parameter" if isinstance(variable, torch.nn.Parameter) else "input"
        found.pop(0, None)
        return found

    def _holders(self, roots: Sequence[tuple[Any, str | None]]) -> dict[Any, str]:
        found: dict[Any, str] = {}
        nodes = [(n, name) for t, name in roots if name is not None and (n := _node(t)) is not None and n in self.graph]
        for root, name in sorted(nodes, key=lambda item: (_number(item[0]), len(item[1]))):
            todo = [root]
            while todo:
                node = todo.pop()
                if node not in found:
                    found[node] = name
                    todo.extend(p for p in self.graph.get(node, ()) if p in self.graph)
        return found


def _live() -> list[Any]:
    """Every live tensor with history that Python knows."""
    # The types are asked, not the values: `__class__` may be somebody's code. There are few types, and many values.
    objects = gc.get_objects()
    kinds = {kind for kind in set(map(type, objects)) if issubclass(kind, torch.Tensor)}
    found = []
    for value in [v for v in objects if type(v) in kinds]:
        try:
            if value.grad_fn is not None:
                found.append(value)
        except RuntimeError:  # a view whose base was changed in a way that PyTorch forbids
            continue
    return found


def _node(value: Any) -> Any:
    try:
        return node_of(value)
    except RuntimeError:
        return None


def _number(node: Any) -> int:
    number: int = node._sequence_nr()
    return -1 if number == LEAF else number


def _without_history(given: list[Any]) -> str:
    if any(isinstance(t, torch.Tensor) and t.requires_grad for t in given):
        return "what was given is a leaf: no operation lies behind it, and nothing is saved"
    return (
        "what was given has no history: no operation behind it was recorded (it was detached, made under no_grad, or nothing "
        "that it was computed from requires a gradient), and nothing is saved"
    )


def _held(node: Any, frames: set[int]) -> Iterable[tuple[str, torch.Tensor | None, str | None]]:
    """(name, tensor, region) of everything that a node holds; None for a tensor that is not here."""
    region = region_of(node)
    whole = region
    for slot in slots(node):
        name = "_saved_" + slot.name
        if slot.freed:
            yield name, None, None
        elif slot.hook is None:
            if isinstance(slot.data, torch.Tensor):
                yield name, slot.data, whole
        else:
            region = hook_region(slot.hook)
            if region == "checkpoint":
                yield name, None, region
                frame, kept_for_it = checkpoint_of(slot.hook)
                if frame not in frames:
                    frames.add(frame)
                    for argument, tensor in kept_for_it:
                        yield argument, tensor, region
                continue
            kept = _kept(slot.data)
            found = list(_packed(slot.data, _DEEP)) if kept is None else kept
            for tensor in found:
                yield name, tensor, region if kept is None else "keep"
            if not found:
                yield name, None, region if kept is None else "keep"
    for name, tensor in attributes(node):
        yield name, tensor, whole


def _kept(data: Any) -> list[torch.Tensor] | None:
    """What `secondpass.keep` holds in the place of a saved tensor; None where the token is not keep's."""
    if type(data).__module__ != "secondpass.keeper.recompute.op":
        return None
    value = data.value
    found = [value.data, getattr(value.bits, "_bits", None)]
    if value.host is not None:
        found += [value.host._host, value.host.back, value.host.source]
    return [t for t in found if isinstance(t, torch.Tensor)]


def _packed(data: Any, deep: int) -> Iterable[torch.Tensor]:
    """The tensors in what a hook has packed, without running any code of its author's."""
    kind = type(data)
    if issubclass(kind, torch.Tensor):
        yield data
    elif deep <= 0:
        return
    elif issubclass(kind, (list, tuple)):
        for value in list(tuple.__iter__(data) if issubclass(kind, tuple) else list.__iter__(data)):
            yield from _packed(value, deep - 1)
    elif issubclass(kind, dict):
        for value in list(dict.values(data)):
            yield from _packed(value, deep - 1)
    elif kind.__module__ != "builtins":
        try:
            fields = object.__getattribute__(data, "__dict__")
        except AttributeError:
            return
        for value in list(fields.values()):
            yield from _packed(value, deep - 1)


def _memory(tensor: torch.Tensor) -> tuple[Any, int]:
    """What tells the memory of a tensor from other memory, and its bytes: rule 1."""
    try:
        memory = tensor.untyped_storage()
        if memory._cdata:
            return memory._cdata, int(memory.nbytes())
    except (RuntimeError, NotImplementedError, TypeError):
        pass
    return ("tensor", tensor._cdata), _elements(tensor)


def _describe(entry: Entry, tensor: torch.Tensor, size: int) -> None:
    entry.bytes, entry.dtype, entry.device = size, _word(tensor.dtype), _word(tensor.device)
    try:
        entry.shape = tuple(map(int, tensor.shape))
    except (RuntimeError, TypeError):  # a size that only a run would tell
        entry.shape = ()


@cache
def _word(value: torch.dtype | torch.device) -> str:
    return str(value).removeprefix("torch.")


def _elements(tensor: torch.Tensor) -> int:
    try:
        if tensor.layout is torch.sparse_coo:
            return sum(t.numel() * t.element_size() for t in (tensor._indices(), tensor._values()))
        return int(tensor.numel()) * tensor.element_size()
    except (RuntimeError, NotImplementedError, TypeError):
        return 0


def _is_parameter(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, torch.nn.Parameter) or (
        tensor._is_view() and isinstance(tensor._base, torch.nn.Parameter)
    )


def _implementations(tensor: torch.Tensor) -> set[int]:
    base = tensor._base if tensor._is_view() else None
    return {tensor._cdata} if base is None else {tensor._cdata, base._cdata}


def _holders_of(tensor: torch.Tensor) -> int:
    """How many tensors lie in a memory; the look at it not counted."""
    return int(torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)) - 1


@cache
def _alone() -> int:
    """How many references Python counts for a tensor that only a node and a dict hold."""
    found = []

    def count() -> None:
        with torch.enable_grad():
            node = torch.zeros(1, requires_grad=True, device="cpu").mul(torch.zeros(1, device="cpu")).grad_fn
        held = {0: saved_tensors(node)[0][1]}
        found.append(sys.getrefcount(held[0]))

    # In a thread of its own: nodes are numbered by thread, and the user's numbers are not ours to use up.
    thread = threading.Thread(target=count)
    try:
        thread.start()
        thread.join()
    except RuntimeError:  # no room for a thread
        pass
    return found[0] if found else _USUALLY


class _Modules:
    """The modules in sight: whose parameters and buffers are whose."""

    def __init__(self, shot: Snapshot) -> None:
        self._of: dict[int, str] = {}
        self.buffers: set[int] = set()
        self._known: dict[Any, str | None] = {}
        for name, module in shot.modules:
            for parameter in list(module._parameters.values()):
                if parameter is not None:
                    self._of.setdefault(id(parameter), name)
            for buffer in list(module._buffers.values()):
                if buffer is not None:
                    self.buffers.add(storage(buffer))
        shot.modules.clear()
        shot.leaves.clear()
        shot.optimizers.clear()

    def owner(self, graph: dict[Any, tuple[Any, ...]], node: Any) -> str | None:
        """The module whose parameters a node consumes, directly or through a view that saves nothing."""
        if not self._of:
            return None
        for parent in graph[node]:
            ahead = (parent, *graph.get(parent, ())) if parent.name() in _THROUGH else (parent,)
            for one in ahead:
                if is_leaf(one) and (name := self._of.get(id(one.variable))) is not None:
                    return name
        return None


_THROUGH = frozenset({"TBackward0", "ToCopyBackward0", "TransposeBackward0", "UnsqueezeBackward0", "ViewBackward0"})
