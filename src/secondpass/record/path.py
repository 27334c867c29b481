# SPDX-License-Identifier: BSD-3-Clause
"""How a value is reached from a name of the user's: data, spelled out only when it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Path", "Scope", "Way", "WayKind"]

Scope = Literal["local", "global", "cell"]
WayKind = Literal["attribute", "item", "call", "queue"]
"""`x.key`, `x[key]`, what a call `x(...)` gives from its memory, and what lies in a queue (which its author calls by the
queue's own name)."""


@dataclass(frozen=True, slots=True)
class Way:
    """One step of a path."""

    kind: WayKind
    key: str
    """An attribute's name; an index or a key as the source would write it (`3`, `"h"`), `...` where it cannot be written."""
    type: str = ""
    """The type of what it leads to."""


@dataclass(frozen=True, slots=True)
class Path:
    """A name and the steps from its value to the one that is meant."""

    root: str
    scope: Scope = "local"
    ways: tuple[Way, ...] = ()
    type: str = ""
    """The type of the value that the name holds."""

    def __str__(self) -> str:
        return self.root + "".join(_spelled(w) for w in self.ways)

    @property
    def name(self) -> str:
        """As the source writes it."""
        return str(self)

    @property
    def kind(self) -> str:
        """What holds the value at its end: a name's scope, an `attribute`, or a `slot` of a container.

        A tuple is several values under one name, not something that things are put into.
        """
        for depth in reversed(range(len(self.ways))):
            if self.ways[depth].kind == "attribute":
                return "attribute"
            if self.type_at(depth) not in ("tuple", "NamedTuple"):
                return "slot"
        return self.scope

    def type_at(self, depth: int) -> str:
        """The type of the value in front of a step (or, past the last one, of the value that is meant)."""
        return self.type if depth == 0 else self.ways[depth - 1].type

    @property
    def types(self) -> tuple[str, ...]:
        """The types along the path, the name's own value first."""
        return (self.type, *(w.type for w in self.ways))

    @property
    def parent(self) -> Path | None:
        """The path to what holds the value; None for a plain name."""
        return Path(self.root, self.scope, self.ways[:-1], self.type) if self.ways else None

    @property
    def holder(self) -> Path | None:
        """The outermost container on the path that things are put into: what a store is called by."""
        for depth, way in enumerate(self.ways):
            if self.type_at(depth) == "Dataset":
                return Path(self.root, self.scope, self.ways[:depth], self.type)
            if way.kind == "item" and self.type_at(depth) not in ("tuple", "NamedTuple"):
                return Path(self.root, self.scope, self.ways[:depth], self.type)
            if way.kind in ("queue", "call"):
                return Path(self.root, self.scope, self.ways[:depth], self.type)
        return None

    def then(self, kind: WayKind, key: str, type: str = "") -> Path:
        """One step further."""
        return Path(self.root, self.scope, (*self.ways, Way(kind, key, type)), self.type)

    def is_below(self, other: Path) -> bool:
        """Whether it goes through what another path leads to."""
        return self.root == other.root and self.ways[: len(other.ways)] == other.ways


def _spelled(way: Way) -> str:
    if way.kind == "attribute":
        return f".{way.key}"
    return {"item": f"[{way.key}]", "call": f"({way.key})"}.get(way.kind, "")
