# SPDX-License-Identifier: BSD-3-Clause
"""Nested values: what states, arguments and outputs are made of.

Besides containers, dataclasses and named tuples, plain objects are looked into on request: a cache of keys, a
distribution, a namespace hold tensors in their attributes.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

__all__ = ["leaves", "map_leaves", "tensors"]

_MOST = 100_000  # values that are looked at: an object may lead anywhere
_CLOSED = (torch.Tensor, nn.Module, torch.optim.Optimizer, type, types.ModuleType, str, bytes, int, float, complex)


def leaves(tree: Any, objects: bool = False) -> Iterator[Any]:
    """Yields what a nested value holds, in a fixed order."""
    todo: list[Any] = [tree]
    seen: set[int] = set()
    while todo and len(seen) < _MOST:
        value = todo.pop()
        inner = _children(value, objects)
        if inner is None:
            yield value
        elif id(value) not in seen:  # a container that holds itself is walked once
            seen.add(id(value))
            todo.extend(reversed(inner))


def tensors(tree: Any, objects: bool = False) -> Iterator[torch.Tensor]:
    """Yields the tensors of a nested value."""
    return (leaf for leaf in leaves(tree, objects) if isinstance(leaf, torch.Tensor))


def map_leaves(function: Callable[[Any], Any], tree: Any, objects: bool = False) -> Any:
    """Returns the same structure with every leaf replaced; parts that do not change are not copied."""
    return _map(function, tree, {}, objects)


def _children(value: Any, objects: bool) -> list[Any] | None:
    if isinstance(value, (torch.Tensor, str, bytes)):
        return None
    if isinstance(value, (tuple, list, deque, set, frozenset)):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value) if hasattr(value, field.name)]
    if objects and _open(value):
        return [*(getattr(value, name) for name in _slots_of(value)), *getattr(value, "__dict__", {}).values()]
    return None


def _open(value: Any) -> bool:
    """An object whose attributes may hold tensors of its own. Those of functions and methods are not its own."""
    kind = type(value)
    return kind.__module__ != "builtins" and not isinstance(value, _CLOSED)


def _slots_of(value: Any) -> list[str]:
    """The attributes of an object that lie in slots."""
    return [name for kind in type(value).__mro__ for name in _slots(kind) if hasattr(value, name)]


@functools.cache
def _slots(kind: type) -> tuple[str, ...]:
    found = vars(kind).get("__slots__", ())
    names = (found,) if isinstance(found, str) else tuple(found)
    return tuple(name for name in names if isinstance(vars(kind).get(name), types.MemberDescriptorType))


def _map(function: Callable[[Any], Any], value: Any, memo: dict[int, Any], objects: bool) -> Any:
    if id(value) in memo:
        return memo[id(value)]
    inner = _children(value, objects)
    if inner is None:
        result = function(value)
    else:
        memo[id(value)] = value  # a container inside itself stays as it is
        mapped = [_map(function, child, memo, objects) for child in inner]
        same = all(new is old for new, old in zip(mapped, inner, strict=True))
        result = value if same else _rebuild(value, mapped)
    memo[id(value)] = result
    return result


def _rebuild(value: Any, items: list[Any]) -> Any:
    if isinstance(value, tuple):
        # Named tuples (and torch's PackedSequence) take their fields one by one.
        return type(value)(*items) if hasattr(value, "_fields") else _sequence(value, items)
    if isinstance(value, deque):
        return type(value)(items, value.maxlen)
    if isinstance(value, list):
        fresh = copy.copy(value)
        fresh[:] = items
        return fresh
    if isinstance(value, (set, frozenset)):
        return type(value)(items)
    fresh = copy.copy(value)
    if isinstance(value, dict):
        for key, item in zip(list(value), items, strict=True):
            fresh[key] = item
        return fresh
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
        for name, item in zip(names, items, strict=True):
            object.__setattr__(fresh, name, item)  # works on frozen ones too
        return fresh
    slots = _slots_of(value)
    for name, item in zip(slots, items, strict=False):
        object.__setattr__(fresh, name, item)
    getattr(fresh, "__dict__", {}).update(zip(getattr(value, "__dict__", {}), items[len(slots) :], strict=True))
    return fresh


def _sequence(value: Any, items: list[Any]) -> Any:
    try:
        return type(value)(items)
    except TypeError:  # torch.return_types and the like
        return tuple(items)
