# SPDX-License-Identifier: BSD-3-Clause
"""Parameters that a module has in a plain list, tuple or dictionary: `module.parameters()` does not give them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch

from ..torchgraph import Leaves
from .objects import fields_of, parts

__all__ = ["unregistered"]

_ITEMS, _DEPTH = 64, 2


def unregistered(
    modules: Sequence[tuple[str, torch.nn.Module]], leaves: Leaves, is_own: Callable[[type], bool]
) -> dict[int, tuple[str, str, int]]:
    """The leaves in plain containers of modules of the user's classes that no module in sight registers, with the container's
    path, the module's class and the number of items."""
    known = {id(inner) for _, m in modules for inner in (*m._modules.values(), *m._parameters.values())}
    found: dict[int, tuple[str, str, int]] = {}
    for name, module in modules:
        for _, key, value in parts(module) if is_own(type(module)) else ():
            items = list(_items(value, 0))
            for item in items:
                for leaf in _parameters(item) if id(item) not in known else ():
                    number = leaves.number(leaf)
                    if leaf is item:  # parameters of modules have names by now
                        leaves.call(leaf, f"{name}.{key}[...]")
                    found.setdefault(number, (f"{name}.{key}", type(module).__name__, len(items)))
    return found


def _items(value: Any, depth: int) -> Iterator[Any]:
    """What lies in a container, and in containers in it. Nobody's own methods are called."""
    if type(value) in (list, tuple, dict) and depth < _DEPTH:
        for item in list(islice(value.values() if type(value) is dict else value, _ITEMS)):
            yield from _items(item, depth + 1)
    elif depth:
        yield value


def _parameters(value: Any) -> Iterator[torch.Tensor]:
    """The parameters of a module and of those below it; a parameter itself. A module that somebody has switched to evaluation is
    one that is not meant to be trained."""
    if issubclass(type(value), torch.nn.Parameter):
        yield value
    elif issubclass(type(value), torch.nn.Module):
        fields = fields_of(value)
        if fields.get("training") is False:
            return
        yield from (p for p in fields.get("_parameters", {}).values() if p is not None)
        for inner in fields.get("_modules", {}).values():
            yield from _parameters(inner)
