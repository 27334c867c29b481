# SPDX-License-Identifier: BSD-3-Clause
"""What the engine does in a pass: which nodes it walks, and in which order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from .nodes import is_leaf, node_of

__all__ = ["order", "walked"]


def order(graph: dict[Any, tuple[Any, ...]], wanted: set[Any], roots: list[Any]) -> Iterator[Any]:
    """The nodes of a pass in the order in which the engine takes them.

    A node is ready when all the nodes that feed it have run; of the ready ones the youngest is taken, leaves first.
    """
    waiting: dict[Any, int] = {}
    for node in wanted:
        for parent in graph.get(node, ()):
            waiting[parent] = waiting.get(parent, 0) + 1
    heap = [(-root._sequence_nr(), k, root) for k, root in enumerate(dict.fromkeys(roots)) if not waiting.get(root)]
    heapq.heapify(heap)
    tie = len(heap)
    while heap:
        _, _, node = heapq.heappop(heap)
        yield node
        for parent in graph.get(node, ()):
            waiting[parent] -= 1
            if not waiting[parent] and parent in wanted:
                tie += 1
                heapq.heappush(heap, (-parent._sequence_nr(), tie, parent))


def walked(graph: dict[Any, tuple[Any, ...]], inputs: Iterable[Any]) -> set[Any]:
    """The nodes of a graph that a pass walks: all of them, or those that lie on a way to its inputs."""
    inputs = list(inputs)
    if not inputs:
        return set(graph)
    nodes = {n for v in inputs if (n := node_of(v)) is not None}
    leaves_in = {id(v) for v in inputs if isinstance(v, torch.Tensor) and v.grad_fn is None}
    goals = [n for n in graph if n in nodes or (leaves_in and is_leaf(n) and id(n.variable) in leaves_in)]
    children: dict[Any, list[Any]] = {}
    for node, parents in graph.items():
        for parent in parents:
            children.setdefault(parent, []).append(node)
    found: set[Any] = set()
    todo = list(goals)
    stops = {n for n in todo if not is_leaf(n)}
    leaves = {n for n in todo if is_leaf(n)}
    while todo:
        for child in children.get(todo.pop(), ()):
            if child not in found:
                found.add(child)
                todo.append(child)
    # An input that is not a leaf stops the pass: its own node runs only if another input lies behind it.
    return found | leaves | (stops & found)
