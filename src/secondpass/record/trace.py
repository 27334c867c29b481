# SPDX-License-Identifier: BSD-3-Clause
"""Everything that is known of the life of the graphs of one program run (or reading)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .event import Cut, Failure, Holding, Loop, Pass, Sighting, Step, Write, ZeroGrad
from .place import Place

__all__ = ["Node", "Owner", "Trace"]


@dataclass(frozen=True, slots=True)
class Owner:
    """An optimizer and the leaves it owns: what the program treats as one network."""

    name: str
    leaves: tuple[int, ...] = ()
    never: tuple[int, ...] = ()
    """Leaves that had no gradient at any of its steps."""
    orphans: tuple[int, ...] = ()
    """Those of them that no module of the user's holds (any more)."""
    steps: int = 0
    first: int | None = None
    """When its first step was."""
    place: Place | None = None
    """Where it was made."""
    left: tuple[int, ...] = ()
    """Leaves that had gradients once, none at its last steps, and that no module of the user's holds any more."""


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
    """Names of the buffers it saved; empty: it saved nothing and never raises."""
    bytes: int | None = None
    place: Place | None = None
    stack: tuple[Place, ...] = ()
    """The user's frames around its creation, innermost first, where known."""
    when: int | None = None
    """The last event before it was built: see NOTE [ The clock ] of `event`."""
    leaf: str | None = None
    """A leaf's name (`encoder.weight`), or "" for a leaf without one."""
    spent: bool | None = None
    """Whether its buffers are gone, as seen when the trace was taken."""
    bent: bool | None = None
    """Whether the root of the pass that walked it again depends on it by more than sums and scalings."""
    loops: tuple[Loop, ...] | None = None
    """The user's loops that were running when it was built, innermost first; None where loops are not known."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A producer's whole knowledge. Events are in the order of their clock."""

    nodes: dict[int, Node] = field(default_factory=dict)
    passes: tuple[Pass, ...] = ()
    steps: tuple[Step, ...] = ()
    zero_grads: tuple[ZeroGrad, ...] = ()
    writes: tuple[Write, ...] = ()
    cuts: tuple[Cut, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    holdings: tuple[Holding, ...] = ()
    failures: tuple[Failure, ...] = ()
    owners: tuple[Owner, ...] = ()
    ended: bool = True
    """Whether the program came to its end (False: it failed, or is still running)."""
    producer: str = ""
    """`watch`, `autograd` or `check`."""
    sources: dict[str, str] = field(default_factory=dict)
    """Text of the user's files, by the file name that places use: causes read it to tell where a loop begins."""
    called: tuple[Place, ...] | None = None
    """The statements that ran between the first passes; None where that is not known."""

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

    def at(self, when: int) -> Pass | None:
        """The pass at a moment of the clock."""
        return next((p for p in self.passes if p.when == when), None)
