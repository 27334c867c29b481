# SPDX-License-Identifier: BSD-3-Clause
"""Questions about a graph that has been walked: what a pass runs of it, what it keeps, what depends on what."""

from __future__ import annotations

from typing import Any

import torch

from .graph import buffers, is_leaf

__all__ = ["beyond_sums", "executed", "kept_bytes"]

_SUMMING = ("Add", "Sub", "Mul", "Div", "Neg", "Sum", "Mean", "Stack", "Cat", "View", "Squeeze", "Unsqueeze", "Select")


def kept_bytes(graph: dict[Any, Any]) -> int:
    """Bytes of the buffers of a graph, each memory counted once, parameters and other leaves not at all."""
    leaves = {_storage(n.variable) for n in graph if is_leaf(n) and n.variable is not None}
    sizes: dict[int, int] = {}
    for node in graph:
        for _, data in buffers(node):
            key = _storage(data)
            if key not in leaves:
                sizes[key] = data.untyped_storage().nbytes() if key else data.numel() * data.element_size()
    return sum(sizes.values())


def _storage(tensor: torch.Tensor) -> int:
    try:
        return tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):
        return 0


def beyond_sums(graph: dict[Any, tuple[Any, ...]], roots: list[Any]) -> set[Any]:
    """The nodes that the root depends on other than by sums and scalings: there a stale value makes a wrong
    gradient."""
    straight, todo = set(), list(roots)
    while todo:
        node = todo.pop()
        if node not in straight:
            straight.add(node)
            if node.name().startswith(_SUMMING):
                todo.extend(graph.get(node, ()))
    bent: set[Any] = set()
    todo = [p for n in straight if not n.name().startswith(_SUMMING) for p in graph.get(n, ())]
    while todo:
        node = todo.pop()
        if node not in bent:
            bent.add(node)
            todo.extend(graph.get(node, ()))
    return bent


def executed(graph: dict[Any, tuple[Any, ...]], inputs: list[Any]) -> set[Any]:
    """The nodes of a graph that a pass runs: all of them, or those that lie on a way to its inputs."""
    if not inputs:
        return set(graph)
    children: dict[Any, list[Any]] = {}
    for node, parents in graph.items():
        for parent in parents:
            children.setdefault(parent, []).append(node)
    found: set[Any] = set()
    todo = [n for n in inputs if n in graph]
    stops = {n for n in todo if not is_leaf(n)}
    leaves = {n for n in todo if is_leaf(n)}
    while todo:
        for child in children.get(todo.pop(), ()):
            if child not in found:
                found.add(child)
                todo.append(child)
    # An input that is not a leaf stops the pass: its own node runs only if another input lies behind it.
    return found | leaves | (stops & found)
