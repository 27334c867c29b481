# SPDX-License-Identifier: BSD-3-Clause
"""Gradients that nobody has used yet: which passes were in vain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .nodes import Leaf

__all__ = ["Unused"]


class Unused:
    """The passes whose gradients lie where they were put: no step has applied them, nobody has read or cleared them."""

    def __init__(self) -> None:
        self._left: dict[int, set[Leaf]] = {}
        """Index of the pass -> the leaves whose gradients have not been cleared since."""

    def filled(self, index: int, leaves: Iterable[Leaf]) -> None:
        """A pass gave gradients to these leaves."""
        left = set(leaves)
        if left and not any(leaf.doubt for leaf in left):
            self._left[index] = left

    def used(self, leaves: Iterable[Leaf]) -> None:
        """Gradients were applied or read: no pass that gave one of them was in vain."""
        gone = set(leaves)
        self._left = {index: left for index, left in self._left.items() if left.isdisjoint(gone)}

    def forget(self) -> None:
        """Gradients were used of which it cannot be told whose they are."""
        self._left.clear()

    def cleared(self, leaves: Iterable[Leaf]) -> list[int]:
        """Gradients were cleared; returns the passes of which nothing is left."""
        gone = set(leaves)
        for left in self._left.values():
            left -= gone
        wasted = [index for index, left in self._left.items() if not left]
        for index in wasted:
            del self._left[index]
        return wasted
