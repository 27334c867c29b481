# SPDX-License-Identifier: BSD-3-Clause
"""Numbers for leaves, which PyTorch does not number."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from .nodes import LEAF, node_of

__all__ = ["Leaves"]

_LEAVES = 20_000


class Leaves:
    """Numbers for leaves: negative, stable while the leaf lives, and no reference to it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int]] = {}
        self._next = -1
        self._limit = _LEAVES
        self.names: dict[int, str] = {}
        self.held: set[int] = set()
        """Leaves that the modules in sight held when last looked at."""
        self.unregistered: dict[int, tuple[str, str, int]] = {}
        """Those of them that lie in a plain container of a module: see `record.Trace`."""

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

    def behind(self, value: Any) -> int:
        """The number of the node behind a tensor (or of a gradient edge); for a leaf, the leaf's."""
        node = node_of(value)
        if node is not None:
            return self.of(node)
        return self.number(value) if isinstance(value, torch.Tensor) else LEAF

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
