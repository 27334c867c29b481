# SPDX-License-Identifier: BSD-3-Clause
"""By which names the program can reach some parameters: all of them, where a snapshot gives each object one name."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch

from ..torchgraph import Leaves
from .objects import fields_of, local, parts

__all__ = ["paths_to"]

_VALUES, _DEPTH = 4000, 4


def paths_to(frames: list[FrameType], wanted: set[int], leaves: Leaves) -> tuple[str, ...]:
    """The paths from the names in sight to the leaves of these numbers, and to the modules that hold them."""
    search = _Search(wanted, leaves)
    scopes = []
    for frame in frames:
        with local(frame) as names:
            for name, value in list(names.items()):
                search.value(name, value, 0, ())
        if frame.f_globals not in scopes:
            scopes.append(frame.f_globals)
    for scope in scopes:
        for name, value in list(scope.items()):
            if not name.startswith("__"):
                search.value(name, value, 1, ())
    return tuple(search.found)


class _Search:
    def __init__(self, wanted: set[int], leaves: Leaves) -> None:
        self.wanted, self.leaves, self.left = wanted, leaves, _VALUES
        self.found: dict[str, None] = {}

    def value(self, path: str, value: Any, depth: int, above: tuple[int, ...]) -> bool:
        """Looks at one value; says whether it leads to what is wanted."""
        kind = type(value)
        if issubclass(kind, torch.Tensor):
            leads = issubclass(kind, torch.nn.Parameter) and self.leaves.number(value) in self.wanted
        elif depth > _DEPTH or self.left <= 0 or id(value) in above:
            return False
        else:
            self.left -= 1
            inner = [(f"{path}.{key}", held) for way, key, held in parts(value) if way == "attribute"]
            if issubclass(kind, torch.nn.Module):
                inner += [(f"{path}.{key}", p) for key, p in fields_of(value).get("_parameters", {}).items()]
            elif issubclass(kind, (list, tuple)):
                inner = [(f"{path}[{k}]", held) for k, held in enumerate(value[:64])]
            elif issubclass(kind, dict):
                inner = [(f"{path}[{key!r}]", held) for key, held in list(value.items())[:64] if type(key) is str]
            leads = False
            for name, held in inner:  # all of them: each is a path of its own
                leads |= self.value(name, held, depth + 1, (*above, id(value)))
        if leads:
            self.found[path] = None
        return leads
