# SPDX-License-Identifier: BSD-3-Clause
"""Reading PyTorch's graph: nodes, numbers, what is saved and what is gone. Never keeps a node.

NOTE [ Reading a graph without touching it ]
1. `_saved_x` of a live node unpacks the buffer: with saved-tensor hooks (checkpoint, offload) that runs user code. So
   only `_raw_saved_x` is read, and `_saved_x` only where the raw buffer is empty and has no hook.
2. A buffer that is empty and whose `_saved_x` raises was freed; one whose `_saved_x` is None never held anything.
3. Every node that Python has once seen keeps a Python object until it dies, and such nodes die one inside the other: a
   long chain of them overflows the stack when the user drops it (about 160 bytes a node; torchviz and others die of it
   too). So no more nodes are touched than there is `room` for, the youngest first, whoever asks.
4. Lists of buffers and the `saved_tensors` of Python Functions raise as soon as they are read when freed.
"""

from __future__ import annotations

import heapq
import sys
import threading
import weakref
from collections.abc import Iterable
from functools import cache
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

__all__ = ["LEAF", "Leaves", "buffers", "edges", "is_leaf", "room", "spent", "walk", "walk_young"]

LEAF = 2**64 - 1
"""The number that every AccumulateGrad node carries."""


_LEAVES = 20_000


def is_leaf(node: Any) -> bool:
    """Whether a node ends history at a leaf."""
    return hasattr(node, "variable")


def edges(outputs: Iterable[Any]) -> list[Any]:
    """The nodes that a pass starts from."""
    found = []
    for out in outputs:
        if isinstance(out, torch.Tensor):
            node = out.grad_fn
            if node is None and out.requires_grad:
                node = _leaf_node(out)
        else:
            node = getattr(out, "node", None)
        if node is not None:
            found.append(node)
    return found


def _leaf_node(leaf: torch.Tensor) -> Any:
    """A leaf's node, which is found by recording something on it; None where nothing can be recorded."""
    try:
        with torch.enable_grad():
            return torch.autograd.graph.get_gradient_edge(leaf).node
    except (AttributeError, RuntimeError):
        return None


def room() -> int:
    """How many nodes may be touched from this thread (rule 3), with a wide margin."""
    stack = threading.stack_size()
    if not stack and (threading.current_thread() is threading.main_thread() or sys.platform == "linux"):
        stack = _main_stack()
    return min(20_000, (stack or 512 * 1024) // 400)


def _main_stack() -> int:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
    except (ImportError, ValueError, OSError):
        return 1024 * 1024
    return 8 * 1024 * 1024 if limit < 0 else min(limit, 8 * 1024 * 1024)


def walk_young(roots: Iterable[Any], limit: int) -> dict[Any, tuple[Any, ...]]:
    """The youngest nodes behind some nodes with their parents: all of them, or the first `limit` by age."""
    seen: dict[Any, tuple[Any, ...]] = {}
    heap = [(-n._sequence_nr(), k, n) for k, n in enumerate(roots)]
    heapq.heapify(heap)
    tie = len(heap)
    while heap and len(seen) < limit:
        node = heapq.heappop(heap)[2]
        if node in seen:
            continue
        parents = tuple([n for n, _ in node.next_functions if n is not None])
        seen[node] = parents
        for parent in parents:
            if parent not in seen:
                tie += 1
                heapq.heappush(heap, (-parent._sequence_nr(), tie, parent))
    return seen


def walk(roots: Iterable[Any], limit: int) -> dict[Any, tuple[Any, ...]] | None:
    """Every node behind some nodes with its parents, or None when there are more than `limit`."""
    seen: dict[Any, tuple[Any, ...]] = {}
    todo = list(roots)
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        if len(seen) >= limit:
            return None
        parents = tuple([n for n, _ in node.next_functions if n is not None])
        seen[node] = parents
        todo.extend(parents)
    return seen


def _raw_names(kind: type) -> tuple[str, ...]:
    # The classes of Python Functions come and go with the user's: they are not remembered.
    return ("_raw_saved_tensors",) if issubclass(kind, BackwardCFunction) else _raw_names_of(kind)


@cache
def _raw_names_of(kind: type) -> tuple[str, ...]:
    return tuple(n for n in dir(kind) if n.startswith("_raw_saved_"))


def _state(raw: Any, node: Any, name: str) -> bool | None:
    """True: the buffer was freed; False: it is there; None: there never was one."""
    if raw.data is not None or raw.unpack_hook is not None:
        return False
    try:
        return None if getattr(node, name.replace("_raw", "", 1)) is None else False
    except (RuntimeError, AttributeError):
        return True


def spent(node: Any) -> bool | None:
    """Whether a node's buffers were freed; None for a node that saved nothing."""
    verdict: bool | None = None
    for name in _raw_names(type(node)):
        try:
            raw = getattr(node, name)
        except RuntimeError:
            return True  # rule 4
        except AttributeError:
            continue
        for one in raw if isinstance(raw, (list, tuple)) else (raw,):
            state = _state(one, node, name) if not isinstance(raw, (list, tuple)) else one.data is None
            if state:
                return True
            if state is False:
                verdict = False
    return verdict


def buffers(node: Any) -> list[tuple[str, torch.Tensor]]:
    """The buffers that a node holds now, by name, as they lie there (no hook is run)."""
    found = []
    for name in _raw_names(type(node)):
        try:
            raw = getattr(node, name)
            for one in raw if isinstance(raw, (list, tuple)) else (raw,):
                if isinstance(one.data, torch.Tensor):
                    found.append((name.removeprefix("_raw_saved_"), one.data))
        except (RuntimeError, AttributeError):
            continue
    return found


class Leaves:
    """Numbers for leaves: negative, stable while the leaf lives, and no reference to it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int]] = {}
        self._next = -1
        self._limit = _LEAVES
        self.names: dict[int, str] = {}
        self.held: set[int] = set()
        """Leaves that the modules in sight held when last looked at."""

    def number(self, leaf: torch.Tensor) -> int:
        """The leaf's number, a new one if it was not seen before."""
        entry = self._known.get(id(leaf))
        if entry is not None and entry[0]() is leaf:
            return entry[1]
        number = self._next
        self._next -= 1
        if len(self._known) >= self._limit:
            self._forget()
        self._known[id(leaf)] = (weakref.ref(leaf), number)
        return number

    def of(self, node: Any) -> int:
        """A node's number; for a leaf, the leaf's."""
        number: int = node._sequence_nr()
        if number == LEAF:
            variable = getattr(node, "variable", None)
            return self.number(variable) if variable is not None else LEAF
        return number

    def _forget(self) -> None:
        """Programs that make leaves without end must not make us grow: the dead ones go, the newest numbers last."""
        self._known = {key: entry for key, entry in list(self._known.items()) if entry[0]() is not None}
        self._limit = max(_LEAVES, 2 * len(self._known))
        if len(self.names) > _LEAVES:
            alive = {number for _, number in self._known.values()}
            self.names = {n: name for n, name in self.names.items() if n in alive or n < self._next + _LEAVES // 2}

    def call(self, leaf: torch.Tensor, name: str) -> int:
        """Gives a leaf a name; the shortest stays. Returns its number."""
        number = self.number(leaf)
        if number not in self.names or len(name) < len(self.names[number]):
            self.names[number] = name
        return number
