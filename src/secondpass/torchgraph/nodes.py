# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's graph as it lies there: nodes, their order of age, and what is behind them. Never keeps a node.

NOTE [ Reading a graph without touching it ]
1. `_saved_x` of a live node unpacks what it saved: with saved-tensor hooks (checkpoint, offload) that runs user code. So
   only `_raw_saved_x` is read, and `_saved_x` only where the raw one is empty and has no hook.
2. A saved tensor that is empty and whose `_saved_x` raises was freed; one whose `_saved_x` is None never held anything.
3. Every node that Python has once seen keeps a Python object until it dies, and such nodes die one inside the other: a
   long chain of them overflows the stack when the user drops it (about 160 bytes a node; torchviz and others die of it
   too). So no more nodes are touched than `touchable` says, the youngest first, whoever asks.
4. Lists of saved tensors and the `saved_tensors` of Python Functions raise as soon as they are read when freed.
"""

from __future__ import annotations

import heapq
import sys
import threading
from collections.abc import Iterable
from typing import Any

import torch

__all__ = ["LEAF", "edges", "is_leaf", "node_of", "touchable", "walk", "walk_young"]

LEAF = 2**64 - 1
"""The number that every AccumulateGrad node carries."""


def is_leaf(node: Any) -> bool:
    """Whether a node ends history at a leaf."""
    return hasattr(node, "variable")


def node_of(value: Any) -> Any:
    """The node behind a tensor, or of a gradient edge; None for a leaf, whose node cannot be had without recording."""
    if isinstance(value, torch.Tensor):
        return value.grad_fn
    return getattr(value, "node", None)


def edges(values: Iterable[Any]) -> list[Any]:
    """The nodes behind some tensors, leaves left out."""
    return [n for v in values if (n := node_of(v)) is not None]


def touchable() -> int:
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
