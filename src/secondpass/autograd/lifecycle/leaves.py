# SPDX-License-Identifier: BSD-3-Clause
"""The gradient of a leaf: which passes have filled it since it was last cleared."""

from __future__ import annotations

from ...record import Gradient

__all__ = ["Leaf"]


class Leaf:
    """What is known of the gradient that a leaf has accumulated."""

    __slots__ = ("has", "made")

    def __init__(self) -> None:
        self.has: bool | None = False
        """Whether there is one; None where it cannot be told."""
        self.made: Gradient | None = ()
        """The passes that are in it (see NOTE [ What a gradient is made of ] of `record`); None: it cannot be told."""

    def fill(self, when: int) -> None:
        """A pass has added to it."""
        known = None if self.has is None else self.made
        self.made = None if known is None else (*known, when)
        self.has = True

    def may_fill(self) -> None:
        """A pass may have added to it."""
        self.made = None
        if not self.has:
            self.has = None

    def clear(self) -> None:
        """It was set to None, or to zero."""
        self.has, self.made = False, ()

    def assign(self) -> None:
        """The program put a gradient of its own there."""
        self.has, self.made = True, None
