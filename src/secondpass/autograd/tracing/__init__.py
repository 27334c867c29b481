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
from collections import Counter
from dataclasses import replace
from typing import Any, Literal

from ... import record
from ..place import frames, here, place, stack, written
from ..tensors import AccumulateGrad, Tensor
from ..thread_state import state
from .bindings import look, optimizers, terms
from .gradients import Gradients
from .loops import Loops

__all__ = ["Trace"]

_KINDS = ("backward-twice", "inplace", "no-grad", "freed-access", "double-backward")


def _of_leaf(t: Tensor) -> bool:
    return t._req or (t._base is not None and t._base._req)


class Trace:
    """Listens while its `with` lasts."""

    def __init__(self) -> None:
        self._nodes: dict[int, record.Node] = {}
        self._events: list[Any] = []
        self._freed: set[int] = set()
        # What a pass had spent when it failed: spent for those that come after it, not for who asks why it failed.
        self._half: set[int] = set()
        self._gradients = Gradients(self._leaf)
        self._stepping: list[tuple[int, list[int]]] = []
        """Steps that wait for their closure: when they began, and the passes inside."""
        self._owners: dict[int, record.Owner] = {}
        self._held: set[int] = set()  # leaves that a module of the user's held when the last pass began
        self._begun: dict[int, tuple[Any, ...]] = {}
        self._applying = -1  # the step whose writes come next
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
        self._cleared(self._gradients.compare())
        found, versions = self._gradients.found(), self._gradients.versions()
        seen = (found, versions, state.number, state.enabled)
        self._begun[walk.number] = (self._when, stack(), self._loops.now(frames()), seen, len(self._begun) > 0)
        self._freed |= self._half
        self._half = set()
        if len(self._begun) == 1:
            self._raised = 0
        self._look()

    def _look(self) -> None:
        for optimizer, name in optimizers().items():
            self._own(optimizer, name)
        self._held = set()
        containers: dict[record.Path, dict[int, int]] = {}
        for path, tensor, function in look():
            fn = tensor._fn
            if fn is None and tensor._req:
                leaf = self._leaf(tensor, path.name)
                self._held |= {leaf} if path.kind == "attribute" else set()
            elif fn is not None:
                single, made_of = tensor._a.size == 1, terms(fn.number, self._nodes)
                freed = bool(fn.saved and fn.freed)  # a node that saved nothing can be walked again
                self._events.append(record.Binding(self._when, path, fn.number, freed, function, single, made_of))
                holder = path.holder
                if holder is not None:
                    containers.setdefault(holder, {})[id(tensor)] = fn.number
        for path, held in containers.items():
            self._events.append(record.Holding(self._when, path, len(held), tuple(held.values())))

    def _own(self, optimizer: Any, name: str = "") -> record.Owner:
        leaves = tuple(self._leaf(p) for p in optimizer.parameters())
        owner = self._owners.get(id(optimizer), record.Owner(type(optimizer).__name__, bare=leaves))
        self._gradients.follow(optimizer.parameters())
        self._owners[id(optimizer)] = replace(owner, name=name or owner.name, leaves=leaves)
        return self._owners[id(optimizer)]

    def end(self, walk: Any, error: BaseException | None) -> None:
        when, places, loops, (found, versions, number, recording), nested = self._begun.pop(walk.number)
        numbers = [self._number(n) for n in walk.walked]
        # A node that saved nothing counts as freed, too: what matters to a reader is what a pass has been through.
        (self._half if error else self._freed).update(() if walk.retain else numbers)
        self._times[walk.spot] += 1
        for _, inner in self._stepping:
            inner.append(when)
        filled = self._gradients.fill(when, [n.variable for n in walk.walked if isinstance(n, AccumulateGrad)])
        kept = sum(self._nodes[n].bytes or 0 for n in numbers if n in self._nodes) if walk.retain else None
        self._events.append(record.Pass(
            when, walk.kind, tuple(self._number(n) for n, _ in walk.roots),
            None if walk.inputs is None else tuple(self._number(n) for n, _ in walk.inputs),
            walk.retain, walk.create, place(walk.spot), places, frozenset(numbers), "failed" if error else "ok",
            kept_bytes=kept, iteration=self._times[walk.spot], loops=loops, nested=nested, direct=True,
            recording=recording, found=found, filled=filled, versions=versions, number=number,
            behind=self._behind(walk) if walk.kind == "grad" else None,
            outputs=tuple(i for _, i in walk.roots) if any(i for _, i in walk.roots) else (),
        ))  # fmt: skip
        if error is not None:
            self._fail(error, when)

    def _behind(self, walk: Any) -> frozenset[int]:
        """The leaves behind the roots of a walk, those that it did not go to included."""
        seen: set[Any] = set()
        todo = [n for n, _ in walk.roots]
        while todo:
            node = todo.pop()
            if node is not None and node not in seen:
                seen.add(node)
                todo += [n for n, _ in node.next_functions]
        return frozenset(self._number(n) for n in seen if isinstance(n, AccumulateGrad))

    def failed(self, kind: Literal["backward", "grad"], error: BaseException) -> None:
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

    def step_begins(self) -> None:
        """A step that evaluates a closure first."""
        self._when += 1
        self._stepping.append((self._when, []))

    def step(self, optimizer: Any) -> None:
        self._when += 1
        when, inner = self._stepping.pop() if self._stepping else (self._when, [])
        owner = self._own(optimizer, optimizers().get(optimizer, ""))
        spot, name = here(), owner.name
        self._times[spot] += 1
        leaves = {self._leaf(p): p for p in optimizer.parameters()}
        self._cleared(self._gradients.compare())
        known = self._gradients.found()
        self._events.append(record.Step(
            when, name, tuple(leaves), place(spot), None, {n: known.get(n, ()) for n in leaves},
            self._times[spot], tuple(inner), state.number,
        ))  # fmt: skip
        self._applying = when
        first = when if owner.first is None else owner.first
        bare = tuple(n for n in owner.bare or () if leaves.get(n) is not None and leaves[n]._grad is None)
        self._owners[id(optimizer)] = replace(owner, bare=bare, steps=owner.steps + 1, first=first)

    def zero_grad(self, owner: Any, leaves: list[Any]) -> None:
        self._when += 1
        numbers = tuple(self._leaf(p) for p in leaves)
        name = self._own(owner, optimizers().get(owner, "")).name if hasattr(owner, "param_groups") else ""
        self._gradients.compare()
        self._events.append(record.Clear(self._when, numbers, place(here()), name))

    def _cleared(self, leaves: tuple[int, ...]) -> None:
        """What somebody has cleared otherwise than by `zero_grad`."""
        if leaves:
            self._events.append(record.Clear(self._when, leaves))

    def write(self, tensor: Any, how: str) -> None:
        """A tensor was changed in place; what a step writes happens when the step does."""
        leaf = self._leaf(tensor) if tensor._req and tensor._fn is None else None
        if how == "step" and leaf is not None:
            when, target = self._applying, self._nodes[leaf].leaf or ""
        else:
            self._when += 1
            when, target = self._when, written("write")
        self._events.append(record.Write(when, target, leaf, place(here()), how))

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
                number, "torch::autograd::AccumulateGrad", (), (), 0, when=self._when, leaf=name, freed=False
            )
        elif name and not self._nodes[number].leaf:
            self._nodes[number] = replace(self._nodes[number], leaf=name)
        return number

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
            when, kind if kind in _KINDS else "other", str(error),  # type: ignore[arg-type]
            None if node is None else self._number(node),
            place(here()), stack(), saved=saved, leaf=leaf,
        ))  # fmt: skip

    # --- the record
    @property
    def trace(self) -> record.Trace:
        """Everything so far, as plain data."""
        by: dict[type, list[Any]] = {}
        for event in self._events:
            by.setdefault(type(event), []).append(event)
        nodes = {n: replace(v, freed=n in self._freed) if n >= 0 else v for n, v in sorted(self._nodes.items())}
        ordered = {kind: tuple(sorted(found, key=lambda e: e.when)) for kind, found in by.items()}
        moved: dict[int, list[int]] = {}
        for write in ordered.get(record.Write, ()):
            if write.how == "step" and write.leaf is not None:
                moved.setdefault(write.when, []).append(write.leaf)
        return record.Trace(
            nodes=nodes,
            passes=ordered.get(record.Pass, ()),
            steps=(
                *(replace(s, moved=tuple(moved.get(s.when, ()))) for s in ordered.get(record.Step, ())),
                *(record.Step(when, passes=tuple(inner)) for when, inner in self._stepping),
            ),
            clears=ordered.get(record.Clear, ()),
            writes=ordered.get(record.Write, ()),
            cuts=ordered.get(record.Cut, ()),
            bindings=ordered.get(record.Binding, ()),
            holdings=ordered.get(record.Holding, ()),
            failures=ordered.get(record.Failure, ()),
            owners=tuple(self._owners.values()),
            held=frozenset(self._held),
            ended=self._ended,
            producer="autograd",
            sources=self._sources(),
            called=self._called(),
        )

    def _called(self) -> tuple[record.Place, ...]:
        """The lines that made nodes or cut history."""
        made = (p for n in self._nodes.values() for p in n.stack)
        return tuple(dict.fromkeys((*made, *self._cutting)))

    def _sources(self) -> dict[str, str]:
        files = {p.file for e in self._events if (p := getattr(e, "place", None)) is not None}
        files |= {n.place.file for n in self._nodes.values() if n.place is not None}
        return {f: text for f in sorted(files) if (text := "".join(linecache.getlines(f)))}
