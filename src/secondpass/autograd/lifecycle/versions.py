# SPDX-License-Identifier: BSD-3-Clause
"""How often a piece of memory has been changed in place."""

from __future__ import annotations

from typing import Any

__all__ = ["Version"]


class Version:
    """The counter that a tensor shares with all its views."""

    __slots__ = ("count", "doubt", "place")

    def __init__(self) -> None:
        self.count = 0
        self.place: Any = None
        """Where it was last changed."""
        self.doubt = 0
        """How many nodes there were when it was last changed, perhaps."""

    def move(self, place: Any) -> None:
        """The memory was changed."""
        self.count += 1
        self.place = place
