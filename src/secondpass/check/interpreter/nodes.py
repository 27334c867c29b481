# SPDX-License-Identifier: BSD-3-Clause
"""Tensors and the nodes behind them: those of `autograd.lifecycle`, with what a reading knows of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...autograd import lifecycle
from ...record import Cut, Loop, Place

__all__ = [
    "GraphNode", "Leaf", "Refused", "Store", "Tensor", "Unknown", "identity", "kept", "measured", "serials",
    "where_lost",
]  # fmt: skip


class Serials:
    """Numbers things by age, from one again in each reading: the same program must always be read the same way."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0

    def __next__(self) -> int:
        self.last += 1
        return self.last


serials = Serials()


class Unknown:
    """A value that reading cannot tell. Its key is its identity in decisions: equal keys, equal answers."""

    __slots__ = (
        "counts",
        "instance",
        "key",
        "lost",
        "memo",
        "network",
        "node",
        "owner",
        "plain",
        "recurrent",
        "walked",
    )
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
        self.counts: Any = None
        """The list whose length it is."""
        self.instance = False
        """Whether it is a value that the program was given: an argument, what a library or a factory made."""
        self.network: Tensor | None = None
        """The parameter that stands for all parameters of the network that it is."""
        self.recurrent = False
        """Whether it is a network that took in what it gave."""
        self.lost: Cut | None = None
        """Where the history of the tensor ended that it is a number or an array of."""
        self.walked = False
        """Whether a pass began at it: PyTorch took it for a tensor with history."""

    @classmethod
    def reset(cls) -> None:
        """Numbers unknown values, and all others, from one again."""
        cls._count = serials.last = 0

    @property
    def gave(self) -> bool:
        """Whether it has history for certain: what a network gave that is not read, or what a pass began at."""
        return not self.plain and self.node is not None and (self.walked or self.node.network)

    def attribute(self, name: str) -> Unknown:
        """The same attribute of the same unknown object is the same unknown value."""
        if self.memo is None:
            self.memo = {}
        found = self.memo.get(name)
        if found is None:
            found = self.memo[name] = Unknown((self.key, name), self.plain, self.node)
            found.owner, found.lost = self, self.lost
        return found


class Store(lifecycle.Version):
    """The memory behind a tensor and its views, with the version that in-place operations move."""

    __slots__ = ("leaf", "perhaps", "serial", "views")

    def __init__(self) -> None:
        self.count = self.doubt = 0  # spelled out: this runs for every operation
        self.place = None
        self.serial = next(serials)
        self.leaf: Leaf | None = None
        self.perhaps: Store | None = None
        """The memory that it is, unless it is a copy of it."""
        self.views: list[Tensor] = []


class Tensor:
    """A tensor: its history, and the memory it lies in."""

    __slots__ = (
        "attrs",
        "base",
        "born",
        "exact",
        "grad_of",
        "is_param",
        "leaf",
        "loose",
        "lost",
        "name",
        "needs",
        "node",
        "serial",
        "store",
    )

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
        self.born = 0
        """When the data came up that it was computed from, if not by a network; 0: what it is never changes."""
        self.grad_of: Leaf | None = None
        self.is_param = False
        self.name = ""
        self.exact = False  # an integer or boolean tensor: can never have history
        self.loose = False
        self.serial = 0
        """Its number, once it was asked for: see `identity`."""
        self.lost: Cut | None = None
        """Where the history of what it was computed from ended."""
        self.attrs: dict[str, Any] | None = None
        """What the program has put on it: `weight.fast`."""

    @property
    def age(self) -> int:
        """When the newest came up of what it was computed from; parameters are new in every turn."""
        return self.store.serial if self.needs is not False or self.lost is not None else self.born

    @property
    def edge(self) -> GraphNode | None:
        """The node that its gradient goes to."""
        return self.node or (self.leaf.node if self.leaf is not None else None)


def where_lost(values: Iterable[Any], depth: int = 0) -> Cut | None:
    """Where the history ended of the first of some values that had one."""
    for value in values:
        found = None
        if isinstance(value, (Tensor, Unknown)):
            found = value.lost
        elif isinstance(value, (list, tuple)) and depth < 2:
            found = where_lost(value[:24], depth + 1)
        if found is not None:
            return found
    return None


def identity(value: Any) -> Any:
    """What a question about a value knows it by: the same in every run, and never that of another value.

    Where an object lies in memory is neither.
    """
    if isinstance(value, Unknown):
        return value.key
    if isinstance(value, Tensor) and not value.serial:
        value.serial = next(serials)
    if hasattr(value, "serial"):
        return type(value).__name__, value.serial
    if isinstance(value, (bool, int, float, str, bytes, type(None))):
        return repr(value)[:80]
    if isinstance(value, (tuple, list, set, frozenset)):
        return (
            type(value).__name__,
            len(value),
            *(identity(v) for v in list(value)[:3] if not isinstance(value, (set, frozenset))),
        )
    return type(value).__name__, getattr(value, "name", "")


def measured(values: Iterable[Any], depth: int = 0) -> int:
    """When the newest came up of what some numbers were computed from that come out of tensors; 0 if none does."""
    newest = 0
    for value in values:
        if isinstance(value, Unknown):
            value = value.key
        elif isinstance(value, Tensor):
            newest = max(newest, value.age)
        if isinstance(value, tuple) and value[:1] == ("measured",):
            newest = max(newest, value[1])
        elif isinstance(value, (tuple, list)) and depth < 5:
            newest = max(newest, measured(value[:8], depth + 1))
    return newest


class Refused(Exception):
    """A pass that PyTorch would refuse: the program's RuntimeError."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class GraphNode(lifecycle.Node):
    """One recorded operation, with what is known of it."""

    __slots__ = (
        "arguments", "given", "hollow", "leaf", "loops", "maybe", "network", "opaque", "place", "single", "stack", "unsure",
        "vague", "when", "without",
    )  # fmt: skip
    edges: tuple[tuple[GraphNode, int], ...]
    maybe: tuple[GraphNode, ...]

    def __init__(self, number: int, op: str, parents: tuple[GraphNode, ...], maybe: tuple[GraphNode, ...]) -> None:
        # Spelled out rather than left to the base class: this runs for every operation.
        self.name_ = op
        self.edges = tuple([(p, 0) for p in parents]) if parents else ()
        self.number = number
        self.saved = ()
        self.freed_by = None
        self.maybe = maybe
        self.place: Place | None = None
        self.stack: tuple[Place, ...] = ()
        self.when = -1
        self.leaf: Leaf | None = None
        self.without: Cut | None = None
        """Where something that it takes in as a mere value has lost its history."""
        self.opaque = False
        self.arguments: tuple[Any, ...] = ()
        """Which arguments that cannot be told it takes in: each may have a history of its own."""
        self.loops: tuple[Loop, ...] = ()
        self.given: Unknown | None = None
        """The value whose call it is: see NOTE [ Networks that are not read ] of `unread_networks`."""
        self.network = False
        """Whether that value is a network for certain."""
        self.hollow = False
        """Whether it stands for what a factory made of no graph: a model, a configuration."""
        self.single: bool | None = False
        """Whether it is a loss that was reduced to one number; None: a loss that was not, or may not have been."""
        self.vague = False
        self.unsure = frozenset()
        """What it may have saved: only where an unknown value requires a gradient."""

    @property
    def parents(self) -> tuple[GraphNode, ...]:
        """The nodes that its edges lead to."""
        return tuple([n for n, _ in self.edges])

    def connect(self, parents: Iterable[GraphNode]) -> None:
        """More is known now of where it comes from."""
        self.edges, self.maybe = tuple([(p, 0) for p in parents]), ()

    def save(self, names: Iterable[str], tensors: Iterable[tuple[str, Tensor]] = ()) -> None:
        """What it saves, by name, and the tensors of them that are known."""
        known: dict[str, list[lifecycle.Saved]] = {}
        for name, tensor in tensors:
            known.setdefault(name, []).append(kept(name, tensor, tensor.store))
        self.saved = [e for n in names for e in known.get(n) or [(n, lifecycle.INPUT, None, None, 0, None)]]

    @property
    def keeps(self) -> list[tuple[str, Tensor, Store, int]]:
        """The tensors that it saved and that are known: name, tensor, its memory, and the version of that."""
        return [(e[0], e[2], e[3], e[4]) for e in self.saved if e[2] is not None and isinstance(e[3], Store)]

    def drop(self) -> None:
        """A reading holds no memory: what was saved can be looked at afterwards."""


def kept(name: str, tensor: Tensor, store: Store) -> lifecycle.Saved:
    """A saved tensor."""
    return name, lifecycle.INPUT, tensor, store, store.count, None


class Leaf(lifecycle.Leaf):
    """A tensor that gathers gradients, and the state of its gradient."""

    __slots__ = (
        "_whole", "applied", "cleared", "doubt", "filled", "grad", "name", "node", "piled", "read",
        "stands", "store", "tensor",
    )  # fmt: skip

    def __init__(self, node: GraphNode, name: str, tensor: Tensor) -> None:
        super().__init__()
        self.node = node
        self.name = name
        self.tensor = tensor
        self.store = tensor.store
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

    def clear(self) -> None:
        """It was set to None, or to zero."""
        super().clear()
        self.grad, self.piled, self.read = None, False, False
        self.applied.clear()

    def fill(self, when: int) -> None:
        """A pass has added to it."""
        self.piled = self.piled or bool(self.has and self.applied)
        if self.doubt:
            self.made = None
        super().fill(when)
        self.applied.clear()
        self.read = False

    def rename(self, name: str) -> None:
        """Gives it the name by which the program reaches it: `model.fc.weight`; the first one stays."""
        if not self._whole:
            self.name, self._whole = name, True
