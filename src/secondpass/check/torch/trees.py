# SPDX-License-Identifier: BSD-3-Clause
"""Functions that go through nested containers of tensors: `tree_map` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..interpreter.library import FUNCTIONS
from ..interpreter.machine import Machine
from ..interpreter.python_types import instance_of
from ..interpreter.values import Dict, List, Object, Tensor, Unknown

__all__: list[str] = []

Args = list[Any]
Words = dict[str, Any]


def _mapped(m: Machine, act: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The same containers, with what `act` makes of each leaf, and of those at its place in others."""
    if isinstance(tree, Object) and tree.cls.derives("typing.NamedTuple"):
        made = Object(tree.cls)
        made.attrs = {n: _mapped(m, act, v, *(_at(o, n) for o in others)) for n, v in tree.attrs.items()}
        return made
    if isinstance(tree, dict):
        found = Dict({k: _mapped(m, act, v, *(_at(o, k) for o in others)) for k, v in tree.items()}, m.short)
        found.loose = getattr(tree, "loose", False)
        return found
    if isinstance(tree, (list, tuple)):
        parts = [_mapped(m, act, v, *(_at(o, i) for o in others)) for i, v in enumerate(tree)]
        if isinstance(tree, tuple):
            return tuple(parts)
        listed = List(parts, m.short)
        listed.loose = getattr(tree, "loose", False)
        return listed
    return act(tree, *others)


def _at(tree: Any, key: Any) -> Any:
    """What is at the same place of another tree."""
    if isinstance(tree, Object):
        return tree.attrs.get(key, Unknown())
    try:
        return tree[key]
    except (TypeError, LookupError):
        return Unknown()


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, Object) and tree.cls.derives("typing.NamedTuple"):
        tree = tree.attrs
    if isinstance(tree, (dict, list, tuple)):
        return [leaf for v in (tree.values() if isinstance(tree, dict) else tree) for leaf in _leaves(v)]
    return [tree]


def _tree_map(m: Machine, args: Args, kwargs: Words) -> Any:
    return _mapped(m, lambda *leaves: m.call(args[0], list(leaves), {}), *args[1:])


def _tree_map_only(m: Machine, args: Args, kwargs: Words) -> Any:
    kind, act, tree = args[:3]
    return _mapped(m, lambda leaf: leaf if instance_of(m, leaf, kind) is False else m.call(act, [leaf], {}), tree)


def _tree_leaves(m: Machine, args: Args, kwargs: Words) -> Any:
    made = List(_leaves(args[0]), m.short)
    made.loose = any(not isinstance(v, (Tensor, int, float, str)) for v in made)
    return made


for _home in ("torch.utils._pytree", "torch.utils.pytree", "optree", "tree"):
    for _name in ("tree_map", "tree_map_", "map_structure"):
        FUNCTIONS[f"{_home}.{_name}"] = _tree_map
    for _name in ("tree_leaves", "flatten"):
        FUNCTIONS[f"{_home}.{_name}"] = _tree_leaves
FUNCTIONS["torch.utils._pytree.tree_map_only"] = _tree_map_only
