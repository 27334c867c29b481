# SPDX-License-Identifier: BSD-3-Clause
"""The graph: nodes, edges, what is saved, and when it is gone.

NOTE [ The life of a buffer ]
1. A node is made when an operation runs on something that needs a gradient. Its number is one more than the last one.
2. A buffer is either an input (the tensor itself) or an output (its memory only: the tensor holds the node, so a node
   that held the tensor would never be freed by counting references).
3. A pass that does not retain spends each node right after walking it. Only a node that saved something can be spent;
   the others may be walked any number of times.
4. Asking a spent node for a buffer raises; then, only then, the buffer's version is compared with that of its saving.
5. A node that raises has not been spent by that pass; those walked before it have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .place import Spot, here, place
from .state import state

__all__ = ["LAST", "Edge", "GraphError", "Node", "Saved"]

Edge = tuple["Node", int]  # a node, and which of its outputs

LAST = 2**64 - 1  # the number of the nodes that accumulate in leaves: walked before all others that are ready

Saved = tuple[str, int, Any, Any, int, Any]
"""Name, kind (`INPUT`, `HOOKED`, or the output's position), what is kept, version counter, version, unpack or node."""

INPUT, HOOKED = -1, -2


def GraphError(text: str, kind: str = "other", node: Node | None = None, saved: str | None = None) -> RuntimeError:
    """A RuntimeError, as PyTorch raises, that carries what it is about."""
    error = RuntimeError(text)
    error.kind, error.node, error.saved = kind, node, saved  # type: ignore[attr-defined]
    return error


class Node:
    """One recorded operation."""

    __slots__ = ("__weakref__", "edges", "freed_by", "hooks", "meta", "name_", "number", "retained", "saved", "spot")

    def __init__(self, name: str, edges: Sequence[Edge | None], number: int | None = None) -> None:
        self.name_ = name
        self.edges = edges
        if number is None:
            number = state.number
            state.number = number + 1
        self.number = number
        self.saved: Sequence[Saved] = ()
        self.meta: list[Any] = [None]  # shape and type of each output, or None where unknown
        self.freed_by: Any = None  # the walk that spent it
        self.hooks: dict[int, dict[int, Any]] | None = None
        self.retained: dict[int, Any] | None = None
        self.spot: Spot | None = here(2)

    def name(self) -> str:
        return self.name_

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple((None, 0) if e is None else e for e in self.edges)

    @property
    def saves(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(s[0] for s in self.saved))

    def check(self, entry: Saved) -> None:
        """Raises when a buffer is gone or was changed: see NOTE [ The life of a buffer ] 4."""
        if self.freed_by is not None:
            raise self.twice(entry[0])
        counter = entry[3]
        if counter is not None and counter[0] != entry[4]:
            raise GraphError(
                f"one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"{self.name()} saved `{entry[0]}` at version {entry[4]}, it is now at version {counter[0]}.\n"
                f"  built: {place(self.spot)}\n"
                f"  changed: {place(counter[1]) if len(counter) > 1 else 'not known'}\n"
                "Use an operation that is not in place, or make the change after the backward.",
                "inplace", self, entry[0],
            )  # fmt: skip

    def asked(self, saved: str | None = None) -> None:
        """Raises when somebody who is not a pass asks for what is gone."""
        if self.freed_by is not None and state.walk is None:
            error = self.twice(saved)
            error.kind = "freed-access"  # type: ignore[attr-defined]
            if state.listener is not None:
                state.listener.failed("access", error)
            raise error

    def twice(self, saved: str | None = None) -> RuntimeError:
        """The error for a node that has been spent."""
        return GraphError(
            "Trying to backward through the graph a second time: "
            f"{self.name()} needs what it saved, and an earlier pass has freed it.\n"
            f"  built: {place(self.spot)}\n"
            f"  freed: {self.freed_by.describe()}\n"
            "Detach what is carried over, or run the forward again; retain_graph=True in the freeing pass keeps it.",
            "backward-twice", self, saved,
        )  # fmt: skip

    def apply(self, grads: list[Any], needed: Sequence[bool], walk: Any) -> Sequence[Any]:
        """The gradients for the edges, from those of the outputs; `needed` says for which edges."""
        raise NotImplementedError

    def release(self, walk: Any) -> None:
        if self.saved and self.freed_by is None:
            self.freed_by = walk
            self.saved = tuple((s[0], s[1], None, None, s[4], None) for s in self.saved)

    def __repr__(self) -> str:
        return f"<{self.name()} object>"
