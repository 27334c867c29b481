# SPDX-License-Identifier: BSD-3-Clause
"""Says what happens to the graph as a `record.Trace`.

    with secondpass.autograd.trace() as watched:
        ...
    watched.trace        # can be asked for at any time, also after a failure

NOTE [ What a listener may hold ]
Numbers, names and places, and weak references: never a tensor or a node. Being watched changes no lifetime.
"""

from __future__ import annotations

import linecache
import weakref
from collections import Counter
from dataclasses import replace
from typing import Any

from ... import record
from ..place import frames, here, place, stack, written
from ..state import state
from ..tensors import AccumulateGrad, Tensor
from .loops import Loops
from .sightings import look, optimizers, running

__all__ = ["Trace"]

_KINDS = ("backward-twice", "inplace", "no-grad", "freed-access", "double-backward")


def _of_leaf(t: Tensor) -> bool:
    return t._req or (t._base is not None and t._base._req)


class Trace:
    """Listens while its `with` lasts."""

    def __init__(self) -> None:
        self._nodes: dict[int, record.Node] = {}
        self._events: list[Any] = []
        self._spent: set[int] = set()
        # What a pass had spent when it failed: spent for those that come after it, not for who asks why it failed.
        self._half: set[int] = set()
        # The gradients that steps have applied: the tensor (weakly), its version, the optimizer.
        self._applied: dict[int, tuple[Any, int, str]] = {}
        self._piled: set[int] = set()  # leaves where a pass has added to such a gradient
        self._owners: dict[int, record.Owner] = {}
        self._held: set[int] = set()  # leaves that a module of the user's held when the last pass began
        self._begun: dict[int, tuple[Any, ...]] = {}
        # Passes (as positions among the events) whose gradients no step has used yet, and the leaves they reached.
        self._unused: dict[int, frozenset[int]] = {}
        self._raised = 0  # the identity of the error that the innermost pass raised, until the outermost one has ended
        self._loops = Loops()
        self._times: Counter[Any] = Counter()
        self._cuts: set[Any] = set()
        self._cutting: tuple[record.Place, ...] = ()  # lines that cut history, and their callers
        self._ended = False
        self._when = -1

    def __enter__(self) -> Trace:
        self._outer, state.listener = state.listener, self
        return self

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        state.listener = self._outer
        self._ended = error is None
        raised = None if error is None else str(error)
        self._events = [
            replace(e, swallowed=True) if isinstance(e, record.Failure) and e.message != raised else e
            for e in self._events
        ]

    # --- what the listener is told
    def node(self, node: Any) -> None:
        kept = [e[2] for e in node.saved if not (isinstance(e[2], Tensor) and _of_leaf(e[2]))]
        arrays = {id(a): a for k in kept if hasattr(a := getattr(k, "_a", k), "nbytes")}
        self._nodes[node.number] = record.Node(
            node.number, node.name(), tuple(self._number(e[0]) for e in node.edges if e is not None), node.saves,
            sum(a.nbytes for a in arrays.values()), place(node.spot), stack(), self._when,
            loops=self._loops.now(frames()),
        )  # fmt: skip

    def begin(self, walk: Any) -> None:
        self._when += 1
        held = {
            n for n, (grad, version, _) in self._applied.items() if grad() is not None and grad()._version == version
        }
        self._begun[walk.number] = (self._when, stack(), self._loops.now(frames()), held, len(self._begun) > 0)
        self._spent |= self._half
        self._half = set()
        if len(self._begun) == 1:
            self._raised = 0
        self._look()

    def _look(self) -> None:
        for optimizer, name in optimizers().items():
            self._own(optimizer, name)
        self._held = set()
        containers: dict[str, set[int]] = {}
        for name, kind, tensor, function in look():
            fn = tensor._fn
            if fn is None and tensor._req:
                leaf = self._leaf(tensor, name)
                self._held |= {leaf} if kind == "attribute" else set()
            elif fn is not None:
                self._events.append(
                    record.Sighting(self._when, name, kind, fn.number, fn.freed_by is not None, function)
                )
                if name.endswith("[...]"):
                    containers.setdefault(name.removesuffix("[...]"), set()).add(id(tensor))
        for name, held in containers.items():
            kind = "attribute" if "." in name else "slot" if "[" in name else "local"
            self._events.append(record.Holding(self._when, name, kind, len(held), (name,)))

    def _own(self, optimizer: Any, name: str = "") -> record.Owner:
        leaves = tuple(self._leaf(p) for p in optimizer.parameters())
        owner = self._owners.get(id(optimizer), record.Owner(type(optimizer).__name__, never=leaves))
        self._owners[id(optimizer)] = replace(owner, name=name or owner.name, leaves=leaves)
        return self._owners[id(optimizer)]

    def end(self, walk: Any, error: BaseException | None) -> None:
        when, places, loops, held, nested = self._begun.pop(walk.number)
        numbers = [self._number(n) for n in walk.walked]
        # A node that saved nothing counts as spent, too: what matters to a reader is what a pass has been through.
        (self._half if error else self._spent).update(() if walk.retain else numbers)
        self._times[walk.spot] += 1
        kept = sum(self._nodes[n].bytes or 0 for n in numbers if n in self._nodes) if walk.retain else None
        self._events.append(record.Pass(
            when, walk.kind, tuple(self._number(n) for n, _ in walk.roots),
            None if walk.inputs is None else tuple(self._number(n) for n, _ in walk.inputs),
            walk.retain, walk.create, place(walk.spot), places, frozenset(numbers), "failed" if error else "ok",
            kept_bytes=kept, iteration=self._times[walk.spot], loops=loops, nested=nested,
        ))  # fmt: skip
        if walk.kind == "backward" and not nested:
            self._unused[len(self._events) - 1] = frozenset(n for n in numbers if n < 0)
        for node in walk.walked:
            if isinstance(node, AccumulateGrad):
                number = self._number(node)
                if number in held and self._applied[number][0]() is node.variable._grad:
                    self._piled.add(number)
                self._applied.pop(number, None)
        if error is not None:
            self._fail(error, when)

    def failed(self, kind: str, error: BaseException) -> None:
        """A pass could not even begin, or did not find what it was asked for."""
        if getattr(error, "kind", "") == "no-grad":
            self._when += 1
            spot = here()
            self._times[spot] += 1
            self._events.append(record.Pass(
                self._when, kind, (), place=place(spot), stack=stack(), walked=frozenset(), outcome="failed",
                iteration=self._times[spot],
            ))  # fmt: skip
        self._fail(error, self._when)

    def step(self, optimizer: Any) -> None:
        self._when += 1
        owner = self._own(optimizer, optimizers().get(optimizer, ""))
        spot, name = here(), owner.name
        self._times[spot] += 1
        leaves = {self._leaf(p): p for p in optimizer.parameters()}
        stale = tuple(n for n, p in leaves.items() if p._grad is not None and self._again(n, p, name))
        empty = tuple(n for n, p in leaves.items() if p._grad is None)
        self._events.append(record.Step(
            self._when, name, tuple(leaves), place(spot), empty, stale, tuple(n for n in leaves if n in self._piled),
            self._times[spot], inside=bool(self._begun), number=state.number,
        ))  # fmt: skip
        first = self._when if owner.first is None else owner.first
        never = tuple(n for n in owner.never if n in empty)
        self._owners[id(optimizer)] = replace(owner, never=never, steps=owner.steps + 1, first=first)
        self._unused = {at: reached for at, reached in self._unused.items() if not reached & set(leaves)}
        for number, p in leaves.items():
            self._piled.discard(number)
            if p._grad is not None:
                self._applied[number] = (weakref.ref(p._grad), p._grad._version, name)

    def zero_grad(self, owner: Any, leaves: list[Any]) -> None:
        self._when += 1
        numbers = tuple(self._leaf(p) for p in leaves)
        name = self._own(owner, optimizers().get(owner, "")).name if hasattr(owner, "param_groups") else ""
        self._events.append(record.ZeroGrad(self._when, name, numbers, place(here())))
        for at, reached in list(self._unused.items()):
            if reached and reached <= set(numbers):
                self._events[at] = replace(self._events[at], wasted=True)
                del self._unused[at]
        for number in numbers:
            self._applied.pop(number, None)
            self._piled.discard(number)

    def write(self, tensor: Any, how: str) -> None:
        """A tensor was changed in place; what a step writes happens when the step does."""
        leaf = self._leaf(tensor) if tensor._req and tensor._fn is None else None
        if how == "step" and leaf is not None:
            target = self._nodes[leaf].leaf or ""
        else:
            self._when += 1
            target = written("write")
        self._events.append(record.Write(self._when, target, leaf, place(here()), how))

    def cut(self, tensor: Any, kind: str) -> None:
        """History ended; said once for each place."""
        spot = here()
        if (spot, kind) not in self._cuts:
            self._cuts.add((spot, kind))
            self._cutting += stack()
            self._when += 1
            self._events.append(record.Cut(self._when, kind, written(kind), place(spot)))

    # --- numbers
    def _number(self, node: Any) -> int:
        return self._leaf(node.variable) if isinstance(node, AccumulateGrad) else int(node.number)

    def _leaf(self, tensor: Tensor, name: str = "") -> int:
        if tensor._number == 0:
            state.leaves -= 1
            tensor._number = state.leaves
        number = tensor._number
        if number not in self._nodes:
            self._nodes[number] = record.Node(
                number, "torch::autograd::AccumulateGrad", (), (), 0, when=self._when, leaf=name, spent=False
            )
        elif name and not self._nodes[number].leaf:
            self._nodes[number] = replace(self._nodes[number], leaf=name)
        return number

    def _again(self, number: int, p: Tensor, optimizer: str) -> bool:
        grad, version, by = self._applied.get(number, (lambda: None, -1, ""))
        return grad() is p._grad and p._grad is not None and p._grad._version == version and by == optimizer

    def _fail(self, error: BaseException, when: int) -> None:
        if self._raised == id(error):
            return  # told already, by the pass inside
        self._raised = id(error)
        kind, node = getattr(error, "kind", "other"), getattr(error, "node", None)
        saved = getattr(error, "saved", None)
        buffers = () if node is None else node.saved
        tensor = next((e[2] for e in buffers if e[0] == saved and isinstance(e[2], Tensor)), None)
        if tensor is not None and tensor._base is not None:
            tensor = tensor._base  # a linear layer saves a view of its weight
        leaf = self._leaf(tensor) if tensor is not None and tensor._req and tensor._fn is None else None
        self._events.append(record.Failure(
            when, kind if kind in _KINDS else "other", str(error), None if node is None else self._number(node),
            place(here()), stack(), saved=saved, leaf=leaf,
        ))  # fmt: skip

    # --- the record
    @property
    def trace(self) -> record.Trace:
        """Everything so far, as plain data."""
        by: dict[type, list[Any]] = {}
        for event in self._events:
            by.setdefault(type(event), []).append(event)
        nodes = {n: replace(v, spent=n in self._spent) if n >= 0 else v for n, v in sorted(self._nodes.items())}
        ordered = {kind: tuple(sorted(found, key=lambda e: e.when)) for kind, found in by.items()}
        passes, seen = ordered.get(record.Pass, ()), ordered.get(record.Sighting, ())
        holdings = (*ordered.get(record.Holding, ()), *running(seen, passes, self._nodes))
        return record.Trace(
            nodes, passes, ordered.get(record.Step, ()), ordered.get(record.ZeroGrad, ()),
            ordered.get(record.Write, ()), ordered.get(record.Cut, ()), seen, holdings, ordered.get(record.Failure, ()),
            tuple(replace(o, orphans=tuple(n for n in o.never if n not in self._held)) for o in self._owners.values()),
            self._ended, "autograd", self._sources(), self._called(),
        )  # fmt: skip

    def _called(self) -> tuple[record.Place, ...]:
        """The lines that made nodes or cut history."""
        made = (p for n in self._nodes.values() for p in n.stack)
        return tuple(dict.fromkeys((*made, *self._cutting)))

    def _sources(self) -> dict[str, str]:
        files = {p.file for e in self._events if (p := getattr(e, "place", None)) is not None}
        files |= {n.place.file for n in self._nodes.values() if n.place is not None}
        return {f: text for f in sorted(files) if (text := "".join(linecache.getlines(f)))}
