# SPDX-License-Identifier: BSD-3-Clause
"""What every gradient is made of, told from the gradients themselves: see NOTE [ What a gradient is made of ] in `record`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from ...record import Gradient
from ..lifecycle import Leaf
from ..tensors import Tensor

__all__ = ["Gradients"]


class Gradients:
    """Follows the gradients of every leaf that an optimizer owns. Holds no tensor."""

    def __init__(self, number: Callable[[Tensor], int]) -> None:
        self._number = number
        self._leaves: dict[int, Any] = {}
        self._made: dict[int, Leaf] = {}
        self._state: dict[int, tuple[Any, int] | None] = {}

    def follow(self, leaves: Iterable[Tensor]) -> None:
        for leaf in leaves:
            self._leaves.setdefault(self._number(leaf), weakref.ref(leaf))

    def _live(self) -> list[tuple[int, Tensor]]:
        return [(n, leaf) for n, ref in self._leaves.items() if (leaf := ref()) is not None]

    def compare(self) -> tuple[int, ...]:
        """Looks at the gradients between two events; returns the leaves whose gradient was cleared."""
        cleared = []
        for number, leaf in self._live():
            grad, before, known = leaf._grad, self._state.get(number), self._made.setdefault(number, Leaf())
            if grad is None or not grad._a.any():
                if known.made:
                    cleared.append(number)
                known.clear()
            elif before is None or before[0]() is not grad:
                known.assign()
            # Otherwise it is the same gradient, perhaps scaled.
            self._state[number] = None if grad is None else (weakref.ref(grad), grad._version)
        return tuple(cleared)

    def fill(self, when: int, reached: Iterable[Tensor]) -> tuple[int, ...]:
        """A pass has ended: what it reached and changed, it filled."""
        wanted = {self._number(leaf) for leaf in reached}
        filled = []
        for number, leaf in self._live():
            grad, before = leaf._grad, self._state.get(number)
            same = before is not None and grad is not None and before[0]() is grad and before[1] == grad._version
            if number in wanted and grad is not None and not same:
                self._made.setdefault(number, Leaf()).fill(when)
                self._state[number] = (weakref.ref(grad), grad._version)
                filled.append(number)
        return tuple(filled)

    def found(self) -> dict[int, Gradient | None]:
        return {n: self._made[n].made if n in self._made else () for n, _ in self._live()}

    def versions(self) -> dict[int, int]:
        return {n: leaf._version for n, leaf in self._live()}
