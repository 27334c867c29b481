# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of the graph, and what a pass reaches from them. See NOTE [ Certain and maybe ] of `graph`."""

from __future__ import annotations

from ...record import Gradient, Loop, Place
from ..interpreter.values import Store, Tensor, Unknown

__all__ = ["GraphNode", "Leaf", "Refused", "between", "reach"]


class Refused(Exception):
    """A pass that PyTorch would refuse: the program's RuntimeError."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class GraphNode:
    """One recorded operation."""

    __slots__ = (
        "given", "keeps", "leaf", "loops", "maybe", "network", "number", "op", "opaque", "parents", "place", "saved", "spent", "stack",
        "unsure", "vague", "when",
    )  # fmt: skip

    def __init__(self, number: int, op: str, parents: tuple[GraphNode, ...], maybe: tuple[GraphNode, ...]) -> None:
        self.number = number
        self.op = op
        self.parents = parents
        self.maybe = maybe
        self.saved: tuple[str, ...] = ()
        self.keeps: tuple[tuple[str, Tensor, Store, int], ...] = ()
        self.place: Place | None = None
        self.stack: tuple[Place, ...] = ()
        self.when = -1
        self.leaf: Leaf | None = None
        self.spent: bool | None = False
        self.opaque = False
        self.loops: tuple[Loop, ...] = ()
        self.given: Unknown | None = None
        """The value whose call it is: see NOTE [ Networks that are not read ] of `networks`."""
        self.network = False
        """Whether that value is a network for certain."""
        self.vague = False
        """Whether it is not known if it saves anything."""
        self.unsure: frozenset[str] = frozenset()
        """What it may have saved: only where an unknown value requires a gradient."""


class Leaf:
    """A tensor that gathers gradients, and the state of its gradient."""

    __slots__ = (
        "_whole", "applied", "cleared", "doubt", "filled", "grad", "has", "made", "name", "node", "piled",
        "read", "stands", "store", "tensor",
    )  # fmt: skip

    def __init__(self, node: GraphNode, name: str, tensor: Tensor) -> None:
        self.node = node
        self.name = name
        self.tensor = tensor
        self.store = tensor.store
        self.has: bool | None = False
        self.made: Gradient | None = ()
        """The passes whose contributions are in its gradient: see `record.event`."""
        self.applied: set[int] = set()
        """Identities of the optimizers whose step has applied the gradient that is there now."""
        self.filled: set[int] = set()
        """Identities of the optimizers whose last step came before a pass that gave it a gradient."""
        self.cleared: Place | None = None
        """Where its gradient was last cleared."""
        self.piled = False
        """Whether new gradients were added to one that a step had already applied."""
        self.doubt = False
        self.read = False
        """Whether the program has looked at the gradient that is there now."""
        self.grad: Tensor | None = None
        self._whole = False
        self.stands = False
        """Whether it stands for the parameters of a network that is not read."""

    def rename(self, name: str) -> None:
        """Gives it the name by which the program reaches it: `model.fc.weight`; the first one stays."""
        if not self._whole:
            self.name, self._whole = name, True


def reach(nodes: list[GraphNode]) -> tuple[set[GraphNode], set[GraphNode]]:
    """What a pass from some nodes walks for certain, and what it may walk."""
    certain: set[GraphNode] = set()
    doubtful: list[GraphNode] = []
    todo = list(nodes)
    while todo:
        node = todo.pop()
        if node in certain:
            continue
        certain.add(node)
        todo.extend(node.parents)
        if not node.parents and len(node.maybe) == 1 and not node.opaque:
            todo.extend(node.maybe)  # NOTE [ Certain and maybe ] 3
        else:
            doubtful.extend(node.maybe)
    maybe: set[GraphNode] = set()
    while doubtful:
        node = doubtful.pop()
        if node not in maybe and node not in certain:
            maybe.add(node)
            doubtful.extend(node.parents)
            doubtful.extend(node.maybe)
    return certain, maybe


def between(certain: set[GraphNode], goals: list[GraphNode]) -> set[GraphNode]:
    """The nodes on a path to one of the goals."""
    found = {g for g in goals if g in certain}
    for node in sorted(certain, key=lambda n: n.number):
        if node not in found and any(p in found for p in node.parents):
            found.add(node)
    return found
