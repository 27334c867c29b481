# SPDX-License-Identifier: BSD-3-Clause
"""What happens to a graph, in the order in which it happens.

NOTE [ The clock ]
1. Every event of a trace has a `when`: 0, 1, 2 ... without regard to its class.
2. A node's `when` is that of the last event before it was built (-1: before the first), so `node.when < event.when`
   says that the node was there when the event happened.
3. A producer that does not know says None. None is never read as "no" or "none at all".
"""

from __future__ import annotations

from dataclasses import dataclass

from .place import Place

__all__ = ["Cut", "Failure", "Holding", "Loop", "Pass", "Sighting", "Step", "Write", "ZeroGrad"]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of the user's that was running when something happened."""

    file: str
    line: int
    count: int
    """Which iteration of it, counted over the whole run: equal counts mean the same iteration."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One walk of the engine: a `backward()` or a `grad()` call."""

    when: int
    kind: str = "backward"
    """"backward" or "grad"."""
    roots: tuple[int, ...] | None = None
    """Numbers of the nodes it starts from."""
    inputs: tuple[int, ...] | None = None
    """Numbers of the nodes it was asked to stop at (`inputs=`); None where it goes to the leaves."""
    retain: bool = False
    create: bool = False
    place: Place | None = None
    stack: tuple[Place, ...] = ()
    """The user's frames around the call, innermost first; `stack[0]` is `place`."""
    walked: frozenset[int] | None = None
    """Numbers of the nodes it walked, leaves included."""
    outcome: str = "ok"
    """"ok" or "failed"."""
    kept_bytes: int | None = None
    """What `retain` kept alive, parameters not counted."""
    iteration: int | None = None
    """How often the program has come to this place (with this stack): 1, 2, ..."""
    loops: tuple[Loop, ...] | None = None
    """The user's loops that were running, innermost first; None where loops are not known."""
    nested: bool = False
    """Whether it ran inside another pass (checkpoint, a hook)."""
    wasted: bool | None = False
    """Whether its gradients were cleared before any step used them."""
    behind: frozenset[int] | None = None
    """Of a `grad`: the leaves behind its roots, those that it did not walk to included."""

    @property
    def frees(self) -> bool:
        """Whether what it walks is spent afterwards."""
        return not self.retain


@dataclass(frozen=True, slots=True)
class Step:
    """An optimizer applied gradients."""

    when: int
    optimizer: str = ""
    leaves: tuple[int, ...] | None = None
    """Numbers of the parameters it owns."""
    place: Place | None = None
    empty: tuple[int, ...] = ()
    """Leaves that had no gradient when the step began."""
    stale: tuple[int, ...] = ()
    """Leaves whose gradient an earlier step of the same optimizer had applied already, with no pass since."""
    piled: tuple[int, ...] = ()
    """Leaves whose gradient still held, uncleared, what an earlier step had applied, with new passes on top. Where passes
    ran inside (`inside`): those that the step had moved between two passes without their having been cleared."""
    iteration: int | None = None
    inside: bool = False
    """Whether passes ran inside it (a closure, as LBFGS has)."""
    number: int | None = None
    """The number that the next node had then: smaller ones were built before."""


@dataclass(frozen=True, slots=True)
class ZeroGrad:
    """Gradients were cleared."""

    when: int
    optimizer: str = ""
    leaves: tuple[int, ...] | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """A tensor was changed in place."""

    when: int
    target: str = ""
    """The tensor as the source writes it, or ""."""
    leaf: int | None = None
    """The parameter, where it is one."""
    place: Place | None = None
    how: str = ""
    """The operation: `add_`, `[...] =`, `step`."""


@dataclass(frozen=True, slots=True)
class Cut:
    """History ended here, on purpose or not."""

    when: int
    kind: str
    """`detach`, `no_grad`, `item`, `numpy`, `data`, `wrap` (a tensor made anew from values), `compare`, `frozen`..."""
    name: str = ""
    """What lost its history, as the source writes it."""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A name that held a tensor with history when an event happened."""

    when: int
    """The event at whose beginning it was seen."""
    name: str
    """As the source writes it: `hidden`, `self.state`, `buffer[...]`, `state["h"]`."""
    kind: str
    """`local`, `global`, `attribute`, `slot` (of a container), `cell` (of a closure)."""
    number: int
    """The node behind the tensor."""
    spent: bool | None = None
    """Whether that node's buffers had been freed by then."""
    function: str = ""
    """The function whose frame (or object) has the name."""


@dataclass(frozen=True, slots=True)
class Holding:
    """How much history a holder kept alive when an event happened."""

    when: int
    name: str
    kind: str
    count: int
    """Tensors with history in it."""
    chain: tuple[str, ...] = ()
    """From the root object to the holder: `trainer`, `.log`, `["loss"]`."""
    oldest: int | None = None
    """Number of the oldest node at the head of one of them."""
    nodes: int | None = None
    bytes: int | None = None
    live: bool | None = None
    """Whether buffers (not only the skeleton of nodes) are still held."""
    place: Place | None = None
    """Where the source puts tensors into it."""
    single: bool | None = None
    """Whether its tensors have one element only, so that a number can stand for each."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A pass, or an access to a graph, that raised."""

    when: int
    """The pass that failed, or the last event before the failing access."""
    kind: str
    """`backward-twice`, `inplace`, `no-grad`, `freed-access`, `donated`, `double-backward`, `other`."""
    message: str = ""
    node: int | None = None
    """The node that could not be walked."""
    place: Place | None = None
    stack: tuple[Place, ...] = ()
    swallowed: bool = False
    """Whether the program caught it and went on."""
    saved: str | None = None
    """Which of the node's buffers was changed or missing (`self`, `weight`)."""
    leaf: int | None = None
    """The parameter behind that buffer, where it is one."""
    names: tuple[str, ...] = ()
    """Names of the tensor behind that buffer when the pass failed."""
