# SPDX-License-Identifier: BSD-3-Clause
"""Nodes and what they save: see NOTE [ The life of a saved tensor ]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from .versions import Version

__all__ = ["HOOKED", "INPUT", "LAST", "MAYBE", "Edge", "Node", "Refusal", "Saved"]

Edge = tuple["Node", int]
"""A node, and which of its outputs."""

LAST = 2**64 - 1
"""The number of the nodes that accumulate in leaves. Numbers below zero are leaves too."""

Saved = tuple[str, int, Any, Version | None, int, Any]
"""Name, kind (`INPUT`, `HOOKED`, or the output's position), what is kept, its version counter, the version at which it was
saved, and what is needed to unpack it."""

INPUT, HOOKED = -1, -2

MAYBE = "maybe"
"""Freed by some pass, perhaps."""


class Refusal(NamedTuple):
    """Why a node cannot give what it saved."""

    kind: Literal["freed", "changed", "unknown"]
    node: Node
    saved: Saved


class Node:
    """One recorded operation."""

    __slots__ = ("__weakref__", "edges", "freed_by", "name_", "number", "saved")

    # NOTE [ Certain and maybe ]: who computes knows it all, and has these for every node.
    maybe: tuple[Node, ...] = ()
    opaque: bool = False
    vague: bool = False
    unsure: frozenset[str] = frozenset()

    def __init__(self, name: str, edges: Sequence[Edge | None], number: int) -> None:
        self.name_ = name
        self.edges = edges
        self.number = number
        self.saved: Sequence[Saved] = ()
        self.freed_by: Any = None
        """The pass that freed it, `MAYBE`, or None."""

    def name(self) -> str:
        return self.name_

    @property
    def saves(self) -> tuple[str, ...]:
        """The names of what it saved, freed or not."""
        return tuple(dict.fromkeys(s[0] for s in self.saved))

    @property
    def freed(self) -> bool | None:
        """Whether a pass has freed it; None where it cannot be told."""
        return None if self.freed_by is MAYBE else self.freed_by is not None

    def lost(self, entry: Saved) -> Literal["freed", "changed", "unknown"] | None:
        """Why a saved tensor cannot be given; None where it can."""
        if self.freed_by is not None:
            return "unknown" if self.freed_by is MAYBE else "freed"
        version = entry[3]
        if version is None or entry[0] in self.unsure:
            return None
        if version.doubt > self.number:
            return "unknown"
        return "changed" if version.count != entry[4] else None

    def refusal(self) -> Refusal | None:
        """What stops a pass at this node; None where nothing does."""
        if self.opaque or self.vague:
            return None
        for entry in self.saved:
            kind = self.lost(entry)
            if kind is not None:
                return Refusal(kind, self, entry)
        return None

    def may_refuse(self) -> bool:
        """Whether it may have saved something that was changed since."""
        return any(e[0] in self.unsure and e[3] is not None and e[3].count != e[4] for e in self.saved)

    def release(self, walk: Any) -> None:
        """A pass that retains nothing has walked it."""
        if self.freed_by is None or self.freed_by is MAYBE:
            self.freed_by = walk
            self.drop()

    def drop(self) -> None:
        """Lets go of what it saved: names, kinds and versions stay."""
        if self.saved:
            self.saved = tuple((s[0], s[1], None, None, s[4], None) for s in self.saved)

    def may_release(self) -> None:
        """Such a pass may have walked it."""
        if self.freed_by is None:
            self.freed_by = MAYBE
