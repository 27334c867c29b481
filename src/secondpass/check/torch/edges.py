# SPDX-License-Identifier: BSD-3-Clause
"""Edges of a new node: from which tensors it certainly comes, and from which it may."""

from __future__ import annotations

from typing import Any

from ..interpreter.loops import iterate
from ..interpreter.machine import Machine
from ..interpreter.nodes import GraphNode
from ..interpreter.values import Object, Stream, Tensor, Unknown, length

__all__ = ["arguments", "does_need", "edges", "flatten", "may_need"]


def flatten(m: Machine, values: Any, into: list[Any], depth: int) -> None:
    """Collects the tensors, and what may be one, of nested arguments."""
    for value in values:
        if isinstance(value, (Tensor, Unknown)):
            into.append(value)
        elif isinstance(value, (list, tuple)) and depth < 4:
            if not value and length(value) is None:
                into.append(Unknown())  # something may have been put there
            flatten(m, value, into, depth + 1)
        elif isinstance(value, dict) and depth < 4:
            flatten(m, value.values(), into, depth + 1)
        elif isinstance(value, Stream) and depth < 2:
            items = iterate(m, value)
            taken = []
            for item in items:
                taken.append(item)
                if items.length is None and len(taken) >= 3:
                    break
            flatten(m, taken, into, depth + 1)
        elif isinstance(value, Object) and depth < 3:
            flatten(m, value.attrs.values(), into, depth + 2)


def edges(values: list[Any]) -> tuple[bool | None, list[GraphNode], list[GraphNode]]:
    """Whether a result of these values needs a gradient, its certain and its possible parents."""
    certain: list[GraphNode] = []
    maybe: list[GraphNode] = []
    needs: bool | None = False
    for value in values:
        if isinstance(value, Tensor):
            node = value.edge
            if value.needs and node is not None:
                certain.append(node)
                needs = True
            elif value.needs is None or value.needs:
                if node is not None:
                    maybe.append(node)
                needs = needs or None
        elif isinstance(value, Unknown) and not value.plain:
            if value.node is not None and value.gave:
                certain.append(value.node)
                needs = True
                continue
            if value.node is not None:
                maybe.append(value.node)
            needs = needs or None
    return needs, certain, maybe


def arguments(values: list[Any]) -> tuple[Any, ...]:
    """Which of some values, or what they are parts of, a function was given that reading began at."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, Unknown) and not value.plain and value.node is None:
            while value.owner is not None and value in (value.owner.memo or {}).values():
                value = value.owner  # an attribute, or an item; what was taken from it in turn is data
            if value.instance and value.network is None:
                found.append(value.key)
    return tuple(found)


def may_need(value: Any) -> bool:
    """Whether a gradient may be wanted of a value."""
    if isinstance(value, list):
        return any(may_need(v) for v in value)
    if isinstance(value, Unknown):
        return not value.plain
    return isinstance(value, Tensor) and value.needs is not False


def does_need(value: Any) -> bool:
    """Whether a gradient is wanted of a value for certain."""
    if isinstance(value, list):
        return any(does_need(v) for v in value)
    if isinstance(value, Unknown):
        return value.gave
    return isinstance(value, Tensor) and value.needs is True
