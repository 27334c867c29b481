# SPDX-License-Identifier: BSD-3-Clause
"""Tensors, the nodes behind them, and what a pass reaches from those. See NOTE [ Certain and maybe ] of `graph`."""

from __future__ import annotations

from itertools import count
from typing import Any

from ...record import Gradient, Loop, Place

__all__ = ["GraphNode", "Leaf", "Refused", "Store", "Tensor", "Unknown", "between", "reach", "serials"]

serials = count()
"""Numbers things that can be changed, by age: see `memo`."""


class Unknown:
    """A value that reading cannot tell. Its key is its identity in decisions: equal keys, equal answers."""

    __slots__ = ("instance", "key", "memo", "network", "node", "owner", "plain")
    _count = 0

    def __init__(self, key: Any = None, plain: bool = False, node: GraphNode | None = None) -> None:
        if key is None:
            Unknown._count += 1
            key = Unknown._count
        self.key = key
        self.plain = plain
        self.node = node
        self.memo: dict[str, Unknown] | None = None
        self.owner: Unknown | None = None
        self.instance = False
        """Whether it is a value that the program was given: an argument, what a library or a factory made."""
        self.network: Tensor | None = None
        """The parameter that stands for all parameters of the network that it is."""

    @classmethod
    def reset(cls) -> None:
        """Numbers unknown values from one again."""
        cls._count = 0

    def attribute(self, name: str) -> Unknown:
        """The same attribute of the same unknown object is the same unknown value."""
        if self.memo is None:
            self.memo = {}
        found = self.memo.get(name)
        if found is None:
            found = self.memo[name] = Unknown((self.key, name), self.plain, self.node)
            found.owner = self
        return found


class Store:
    """The memory behind a tensor and its views, with the version that in-place operations move."""

    __slots__ = ("doubt", "leaf", "serial", "version", "writer")

    def __init__(self) -> None:
        self.serial = next(serials)
        self.version = 0
        self.doubt = 0
        """How many nodes there were when it was last changed, perhaps."""
        self.leaf: Leaf | None = None
        self.writer: Any = None


class Tensor:
    """A tensor: its history, and the memory it lies in."""

    __slots__ = ("base", "exact", "grad_of", "is_param", "leaf", "loose", "name", "needs", "node", "store")

    def __init__(
        self,
        needs: bool | None = False,
        node: GraphNode | None = None,
        store: Store | None = None,
        leaf: Leaf | None = None,
    ) -> None:
        self.needs = needs
        self.node = node
        self.store = store or Store()
        self.leaf = leaf
        self.base: Tensor | None = None
        self.grad_of: Leaf | None = None
        self.is_param = False
        self.name = ""
        self.exact = False  # an integer or boolean tensor: can never have history
        self.loose = False

    @property
    def edge(self) -> GraphNode | None:
        """The node that its gradient goes to."""
        return self.node or (self.leaf.node if self.leaf is not None else None)


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
