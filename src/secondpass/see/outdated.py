# SPDX-License-Identifier: BSD-3-Clause
"""Which saved tensors no later pass can need.

NOTE [ What no later pass can need ]
Saved tensors are outdated when an optimizer has moved a parameter that their graph leads to since they were built: a pass
over them would fail, or give the gradient of parameters that are gone.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..torchgraph import is_leaf
from ..watcher.watcher import Watcher
from .read_graph import Reading

__all__ = ["Outdated"]


class Outdated:
    """Asked by a node's number; see NOTE [ What no later pass can need ]. Must not outlive the reading."""

    def __init__(self, watcher: Watcher, reading: Reading) -> None:
        self.watcher, self.reading = watcher, reading
        self.steps = watcher.ledger.step_notes()[::-1]

    def __call__(self, number: int) -> bool:
        if not self.steps or self.steps[0].mark <= number:
            return False  # built since the last step: what lies behind it need not be known
        leaves = self._leaves.get(number)
        if not leaves:
            return False
        for step in self.steps:
            if step.mark <= number:
                return False
            moved = step.moved if step.moved is not None else step.book.every if step.book is not None else ()
            if not leaves.isdisjoint(moved):
                return True
        return False

    @cached_property
    def _leaves(self) -> dict[int, frozenset[int]]:
        """The leaves behind each node, by its number; oldest first, so that each is worked out once."""
        behind: dict[Any, frozenset[int]] = {}
        shared: dict[frozenset[int], frozenset[int]] = {}
        graph = self.reading.graph
        for node in sorted(graph, key=lambda n: (not is_leaf(n), n._sequence_nr())):
            if is_leaf(node):
                behind[node] = frozenset((self.watcher.leaves.of(node),))
                continue
            found = frozenset().union(*(behind.get(p, frozenset()) for p in graph[node]))
            behind[node] = shared.setdefault(found, found)
        return {n._sequence_nr(): found for n, found in behind.items() if not is_leaf(n)}
