# SPDX-License-Identifier: BSD-3-Clause
"""Nodes that compute: `lifecycle`'s nodes with shapes, hooks, and the errors that users see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import lifecycle
from .lifecycle import HOOKED, INPUT, LAST, Saved
from .place import Spot, here, place
from .thread_state import state

__all__ = ["HOOKED", "INPUT", "LAST", "Edge", "GraphError", "Node", "Saved"]

Edge = tuple["Node", int]  # a node, and which of its outputs


def GraphError(text: str, kind: str = "other", node: Node | None = None, saved: str | None = None) -> RuntimeError:
    """A RuntimeError, as PyTorch raises, that carries what it is about."""
    error = RuntimeError(text)
    error.kind, error.node, error.saved = kind, node, saved  # type: ignore[attr-defined]
    return error


class Node(lifecycle.Node):
    """One recorded operation."""

    __slots__ = ("hooks", "meta", "retained", "spot")
    edges: Sequence[Edge | None]

    def __init__(self, name: str, edges: Sequence[Edge | None], number: int | None = None) -> None:
        if number is None:
            number = state.number
            state.number = number + 1
        super().__init__(name, edges, number)
        self.meta: list[Any] = [None]  # shape and type of each output, or None where unknown
        self.hooks: dict[int, dict[int, Any]] | None = None
        self.retained: dict[int, Any] | None = None
        self.spot: Spot | None = here(2)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple((None, 0) if e is None else e for e in self.edges)

    def check(self, entry: Saved) -> None:
        """Raises when a saved tensor is gone or was changed: see NOTE [ The life of a saved tensor ] 4."""
        why = self.lost(entry)
        if why == "freed":
            raise self.twice(entry[0])
        if why == "changed":
            version = entry[3]
            assert version is not None
            raise GraphError(
                f"one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"{self.name()} saved `{entry[0]}` at version {entry[4]}, it is now at version {version.count}.\n"
                f"  built: {place(self.spot)}\n"
                f"  changed: {place(version.place) if version.place is not None else 'not known'}\n"
                "Use an operation that is not in place, or make the change after the backward.",
                "inplace", self, entry[0],
            )  # fmt: skip

    def asked(self, saved: str | None = None) -> None:
        """Raises when somebody who is not a pass asks for what is gone."""
        if self.freed and state.walk is None:
            error = self.twice(saved)
            error.kind = "freed-access"  # type: ignore[attr-defined]
            if state.listener is not None:
                state.listener.failed("access", error)
            raise error

    def twice(self, saved: str | None = None) -> RuntimeError:
        """The error for a node that has been freed."""
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

    def __repr__(self) -> str:
        return f"<{self.name()} object>"
