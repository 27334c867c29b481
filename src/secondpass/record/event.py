# SPDX-License-Identifier: BSD-3-Clause
"""What happens to a graph, in the order in which it happens: observations, and no judgement among them.

NOTE [ The clock ]
1. Every event of a trace has a `when`: 0, 1, 2 ... without regard to its class.
2. A node's `when` is that of the last event before it was built (-1: before the first), so `node.when < event.when`
   says that the node was there when the event happened.
3. A producer that does not know says None. None is never read as "no" or "none at all".

NOTE [ What a gradient is made of ]
The gradient of a leaf is known by the passes whose contributions are in it since it was last cleared: a tuple of their
`when`, oldest first. () is no gradient, or one that is all zeros. None is one whose origin is not known: somebody assigned
it, or nobody was looking. Passes say what they found and what they filled, steps what they used; whether a gradient is
stale, piled up or wiped too early follows from that, and is nobody's observation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .path import Path
from .place import Place

__all__ = [
    "Binding", "Clear", "Cut", "Executed", "Failure", "FailureKind", "Forward", "Gradient", "Holding", "Kept", "Loop",
    "Pass", "PassKind", "Step", "Stretch", "Switch", "Write",
]  # fmt: skip

PassKind = Literal["backward", "grad"]
Outcome = Literal["ok", "failed"]
FailureKind = Literal[
    "backward-twice",
    "inplace",
    "no-grad",
    "freed-access",
    "donated",
    "double-backward",
    "unused",
    "ready-twice",
    "unfinished-reduction",
    "out-of-memory",
    "overwritten-output",
    "other",
]
Gradient = tuple[int, ...]
"""See NOTE [ What a gradient is made of ]."""


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
    kind: PassKind = "backward"
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
    outcome: Outcome = "ok"
    kept_bytes: int | None = None
    """What `retain` kept alive, parameters not counted."""
    iteration: int | None = None
    """How often the program has come to this place (with this stack): 1, 2, ..."""
    loops: tuple[Loop, ...] | None = None
    """The user's loops that were running, innermost first; None where loops are not known."""
    nested: bool = False
    """Whether it ran inside another pass (checkpoint, a hook)."""
    maker: int | None = None
    """Of a pass inside another: the number of the node whose backward made it (a reentrant checkpoint's); None for a hook."""
    behind: frozenset[int] | None = None
    """Of a `grad`: the leaves behind its roots, those that it did not walk to included."""
    direct: bool | None = None
    """Whether the user's own line made the call; False where PyTorch itself did, on its way through something else."""
    recording: bool | None = None
    """Whether gradients were being recorded (`torch.is_grad_enabled()`) when it began."""
    found: dict[int, Gradient | None] = field(default_factory=dict)
    """Of the leaves that were looked at: the gradient that was there when it began."""
    filled: tuple[int, ...] | None = None
    """The leaves, of those that were looked at, whose gradient it changed; None where nobody looked."""
    read: bool | None = None
    """Whether the program looked at the gradients that it gave; None where nobody can see that."""
    versions: dict[int, int] = field(default_factory=dict)
    """How often the leaves that were looked at had been changed when it began."""
    number: int | None = None
    """The number that the next node had when it began: smaller ones were built before."""
    thread: int = 0
    reduced: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Of the modules in `Trace.parallels` that were looked at: the leaves whose gradient each took, in this pass, to be
    averaged over the ranks."""
    heads: dict[int, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    """Operations and parents of its roots and of a few nodes next to them, where it was looked at."""
    value: int | None = None
    """The bits of its root's value, where that is one number and was looked at without an operation."""
    optimizers: dict[str, int] = field(default_factory=dict)
    """The optimizers that names led to when it began, where it was looked at: their places in `Trace.owners`."""
    outputs: tuple[int, ...] = ()
    """Which output of its node each root is: the parts of one tensor are; () where each is the first."""
    given: tuple[int, ...] = ()
    """The vectors that it was given for roots that are no scalars: equal numbers are one tensor."""

    @property
    def frees(self) -> bool:
        """Whether what it walks is freed afterwards."""
        return not self.retain

    @property
    def starts(self) -> frozenset[tuple[int, int]]:
        """Its roots, each with the output that it is."""
        roots = self.roots or ()
        return frozenset(zip(roots, self.outputs or (0,) * len(roots), strict=True))


@dataclass(frozen=True, slots=True)
class Step:
    """An optimizer applied gradients; without a name, the user's own code did."""

    when: int
    optimizer: str = ""
    leaves: tuple[int, ...] | None = None
    """Numbers of the parameters it owns."""
    place: Place | None = None
    moved: tuple[int, ...] | None = None
    """The leaves, of those that were looked at, whose version it moved."""
    used: dict[int, Gradient | None] = field(default_factory=dict)
    """Of the leaves that were looked at: the gradient that it applied."""
    iteration: int | None = None
    passes: tuple[int, ...] = ()
    """The passes that ran inside it (a closure, as LBFGS has)."""
    number: int | None = None
    """The number that the next node had then: smaller ones were built before."""
    thread: int = 0
    digest: int | None = None
    """A number that tells the values of the leaves that were looked at from others, after the step; None where they were
    not read. Ranks whose parameters are the same have the same."""


@dataclass(frozen=True, slots=True)
class Forward:
    """One call of a module that averages gradients over ranks."""

    when: int
    """The last event before it."""
    parallel: int
    """Which module: its place in `Trace.parallels`."""
    place: Place | None = None
    stack: tuple[Place, ...] = ()
    began: int = 0
    """The number that the next node had when it began, and when it ended: its own nodes lie between."""
    ended: int | None = None
    """None for a call that failed."""
    synchronises: bool | None = None
    """Whether it made the module ready to average in the next pass (not so under `no_sync()`)."""
    outputs: dict[str, int] | None = None
    """The nodes behind what it returned, by the way to them (`[1]`, `["aux"]`); None where nobody looked."""
    thread: int = 0


@dataclass(frozen=True, slots=True)
class Clear:
    """Gradients were cleared, in whatever way."""

    when: int
    """The event before which it was noticed."""
    leaves: tuple[int, ...] | None = None
    place: Place | None = None
    optimizer: str = ""


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
    """An operation that was seen to end a history."""

    when: int
    kind: str
    """`detach`, `no_grad`, `item`, `numpy`, `data`, `wrap` (a tensor made anew from values), `compare`, `frozen`...;
    `checkpoint`: a reentrant one none of whose inputs required a gradient."""
    name: str = ""
    """What lost its history, as the source writes it."""
    place: Place | None = None
    number: int | None = None
    """The node behind it, where that is known."""
    reached: bool = False
    """Whether a pass was seen to walk what was computed with the value that is left, without its history."""
    leaves: tuple[int, ...] | None = None
    """The leaves that what lost its history was computed with; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A statement that switched the recording of gradients, and did not switch it back by itself."""

    when: int
    """The event before which it ran."""
    place: Place
    how: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What ran between two passes."""

    when: int
    """The second of the two passes."""
    executed: tuple[Executed, ...] = ()


@dataclass(frozen=True, slots=True)
class Binding:
    """A path that led to a tensor with history when an event happened."""

    when: int
    """The event at whose beginning it was seen."""
    path: Path
    number: int
    """The node behind the tensor."""
    freed: bool | None = None
    """Whether that node's saved tensors had been freed by then."""
    function: str = ""
    """The function whose frame (or object) has the name."""
    single: bool | None = None
    """Whether the tensor has one element."""
    terms: tuple[int, ...] = ()
    """The nodes that it was made of, in one operation; of a sum, scaled or not, all that it is a sum of."""
    leaves: tuple[int, ...] = ()
    """Leaves without a gradient so far that lie behind it, and that the pass it was seen at does not walk to."""
    nodes: int | None = None
    """Nodes behind it, where they were counted."""
    bytes: int | None = None
    """Bytes of the saved tensors that those still held."""

    @property
    def name(self) -> str:
        """The path as the source writes it."""
        return self.path.name

    @property
    def kind(self) -> str:
        return self.path.kind


@dataclass(frozen=True, slots=True)
class Holding:
    """How much history a container held when an event happened."""

    when: int
    path: Path
    count: int
    """Tensors with history in it."""
    numbers: tuple[int, ...] = ()
    """Numbers of the nodes behind some of them, in the container's order."""
    nodes: int | None = None
    """Nodes behind its last tensor, where they were counted."""
    bytes: int | None = None
    """Bytes of the saved tensors that those still hold."""
    place: Place | None = None
    """Where the source puts tensors into it."""
    single: bool | None = None
    """Whether its tensors have one element only, so that a number can stand for each."""
    hooks: int | None = None
    """Of what is held by hooks of a module: how many of them hold a container like this."""
    bare: int = 0
    """Tensors without history in it, beside those, as far as was looked."""
    within: bool | None = None
    """Whether its tensors lie in tuples or records that were put into it as a whole."""

    @property
    def name(self) -> str:
        return self.path.name


@dataclass(frozen=True, slots=True)
class Kept:
    """Saved tensors that were alive when an allocation failed, by what holds them."""

    holder: str
    """The path, of a container for all that is in it; "" where no name in sight leads there."""
    bytes: int
    count: int
    """How many tensors."""
    outdated: bool
    """Whether a step has moved parameters behind them since they were built."""
    collected: bool = False
    """Whether they lie in a container."""
    single: bool | None = None
    """Whether the tensors that hold them have one element each."""
    retained: bool = False
    """Whether a pass walked them and was told to keep them."""
    iterations: tuple[int, ...] = ()
    place: Place | None = None
    """The line that built most of it."""


@dataclass(frozen=True, slots=True)
class Executed:
    """A statement that ran, in the order in which they began."""

    place: Place
    began: int
    """The number that the next node had when it began: fewer nodes than that had been recorded."""
    ended: int
    """The same when it ended."""
    call: int = 0
    """Which run of a function it belongs to: the statements of one run share it."""
    caller: int | None = None
    """Which statement, by its place in this order, made that call; None where the call began before."""
    column: int | None = None
    """Where it begins on its line: there may be several."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A pass, or an access to a graph, that raised."""

    when: int
    """The pass that failed, or the last event before the failing access."""
    kind: FailureKind
    message: str = ""
    node: int | None = None
    """The node that could not be walked."""
    place: Place | None = None
    stack: tuple[Place, ...] = ()
    swallowed: bool = False
    """Whether the program caught it and went on."""
    saved: str | None = None
    """Which of the node's saved tensors was changed or missing (`self`, `weight`)."""
    leaf: int | None = None
    """The parameter behind that saved tensor, where it is one; the one whose gradient was overwritten."""
    names: tuple[str, ...] = ()
    """Names of the tensor behind that saved tensor when the pass failed; of an allocation that failed, of the modules in
    sight; of an output that was overwritten, its own."""
    waiting: tuple[int, ...] | None = None
    """Of a reduction that was not finished: the leaves whose gradient had not come."""
    parallel: int | None = None
    """The module, in `Trace.parallels`, that refused."""
    made_at: Place | None = None
    """Of an output that was overwritten: where PyTorch says that it was made."""
    bytes: int | None = None
    """Of an allocation that failed: how much was asked for."""
    evaluating: bool | None = None
    """Of an allocation that failed: whether every module in sight was set to evaluate; None where there was none."""
    requires: dict[str, bool] = field(default_factory=dict)
    """Of a loss without history: which of the tensors in sight required a gradient, by name."""
    trained: tuple[str, ...] = ()
    """Likewise: the names and paths in sight that lead to parameters which an optimizer owns and which require a gradient."""
