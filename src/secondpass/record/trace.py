# SPDX-License-Identifier: BSD-3-Clause
"""Everything that is known of the life of the graphs of one program run (or reading)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from .event import (
    Binding,
    Clear,
    Cut,
    Executed,
    Failure,
    Forward,
    Holding,
    Kept,
    Loop,
    Pass,
    Step,
    Stretch,
    Switch,
    Write,
)
from .place import Place

__all__ = ["Node", "Owner", "Parallel", "Producer", "Trace"]

Producer = Literal["watch", "autograd", "check", "postmortem", ""]


@dataclass(frozen=True, slots=True)
class Owner:
    """An optimizer and the leaves it owns."""

    name: str
    leaves: tuple[int, ...] = ()
    bare: tuple[int, ...] | None = None
    """Leaves that required a gradient and had none at any of its steps that were looked at; None where nobody looked."""
    steps: int = 0
    first: int | None = None
    """When its first step was."""
    place: Place | None = None
    """Where it was made."""
    alive: bool | None = None
    """Whether the optimizer was still there when the trace was taken: one that has done its work trains nothing any more."""
    requiring: tuple[int, ...] | None = None
    """Leaves that required a gradient when the trace was taken; None where nobody looked."""
    kept_alike: tuple[int, ...] | None = None
    """Those of `bare` whose values something else than its steps writes, or that began as a copy of another leaf's: a target
    network, a running average. None where nobody looked."""
    idle: int | None = None
    """How many of its last steps came after passes that had filled none of its gradients; None where nobody looked."""
    given: tuple[int, ...] | None = None
    """Those of `bare` that had a gradient when a pass ended; None where nobody looked. A walk to a leaf may bring none."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """A module that averages gradients over ranks: DistributedDataParallel."""

    name: str = ""
    """As the user's names lead to it; "" where none does."""
    leaves: tuple[int, ...] = ()
    """Its parameters, in the order of PyTorch's own indices."""
    names: tuple[str, ...] = ()
    """What the wrapped module calls them."""
    ranks: int | None = None
    find_unused: bool | None = None
    static: bool | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One recorded operation, or (`leaf` set) the end of history at a leaf."""

    number: int
    """Grows in the order of creation. Leaves have negative numbers: they are older than all history."""
    op: str
    """PyTorch's node name: `TanhBackward0`."""
    parents: tuple[int, ...] | None = None
    """The nodes whose outputs it consumed (`next_functions` without the empty ones)."""
    saved: tuple[str, ...] | None = None
    """Names of the tensors it saved; empty: it saved nothing and never raises."""
    bytes: int | None = None
    place: Place | None = None
    stack: tuple[Place, ...] = ()
    """The user's frames around its creation, innermost first, where known."""
    when: int | None = None
    """The last event before it was built: see NOTE [ The clock ] of `event`."""
    leaf: str | None = None
    """A leaf's name (`encoder.weight`), or "" for a leaf without one."""
    freed: bool | None = None
    """Whether its saved tensors are gone, as seen when the trace was taken."""
    loops: tuple[Loop, ...] | None = None
    """The user's loops that were running when it was built, innermost first; None where loops are not known."""
    again: int | None = None
    """How often the statement that built it ran again before the trace was taken; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A producer's whole knowledge. Events are in the order of their clock."""

    nodes: dict[int, Node] = field(default_factory=dict)
    passes: tuple[Pass, ...] = ()
    steps: tuple[Step, ...] = ()
    clears: tuple[Clear, ...] = ()
    writes: tuple[Write, ...] = ()
    cuts: tuple[Cut, ...] = ()
    switches: tuple[Switch, ...] = ()
    bindings: tuple[Binding, ...] = ()
    holdings: tuple[Holding, ...] = ()
    failures: tuple[Failure, ...] = ()
    kept: tuple[Kept, ...] = ()
    """What was alive when an allocation failed."""
    owners: tuple[Owner, ...] = ()
    held: frozenset[int] | None = None
    """Leaves that modules in sight held when last looked at; None where nobody looked."""
    ended: bool = True
    """Whether the program came to its end (False: it failed, or is still running)."""
    producer: Producer = ""
    sources: dict[str, str] = field(default_factory=dict)
    """Text of the user's files, by the file name that places use."""
    called: tuple[Place, ...] | None = None
    """The statements that ran between the first passes; None where that is not known."""
    executed: tuple[Executed, ...] | None = None
    """The statements before the last failure, where it is worth asking them; None where that is not known."""

    stretches: tuple[Stretch, ...] = ()
    """What ran between passes that had unusually much recorded between them."""
    parallels: tuple[Parallel, ...] = ()
    forwards: tuple[Forward, ...] = ()
    all_forwards: bool | None = None
    """Whether no forward was passed over since the first; None where that is not known."""
    rank: int | None = None
    """Which of several processes that train together this is; None where it is one by itself."""
    window: Stretch | None = None
    """What ran in a few iterations all of whose passes were looked at."""
    libraries: frozenset[str] = frozenset()
    """Modules in sight, by path, that hold other modules and whose class is a library's."""
    unregistered: dict[int, tuple[str, str, int]] = field(default_factory=dict)
    """Leaves that a module in sight has in a plain list, tuple or dictionary, so that they are not among its parameters: the
    path of that container (`model.layers`), the class of the module, and how many items the container has."""

    def history(self, *numbers: int) -> Iterator[Node]:
        """The known nodes behind some nodes, themselves first."""
        seen: set[int] = set()
        todo = list(numbers)
        while todo:
            number = todo.pop()
            node = self.nodes.get(number)
            if node is None or number in seen:
                continue
            seen.add(number)
            yield node
            todo.extend(node.parents or ())

    def around(self, one: Pass) -> Pass | None:
        """The pass that one was made inside of; None for one that was made by itself."""
        earlier = (p for p in reversed(self.passes) if p.when < one.when and not p.nested)
        return next(earlier, None) if one.nested else None

    def maker(self, one: Pass | None) -> Node | None:
        """The node whose backward made a pass inside another."""
        return self.nodes.get(one.maker) if one is not None and one.maker is not None else None

    def at(self, when: int) -> Pass | None:
        """The pass at a moment of the clock."""
        return next((p for p in self.passes if p.when == when), None)
