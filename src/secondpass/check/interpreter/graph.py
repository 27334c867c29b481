# SPDX-License-Identifier: BSD-3-Clause
"""The graph while code is read: nodes, leaves, and what passes, steps and writes do to them.

What is certain and what only may be: NOTE [ Certain and maybe ] of `autograd.lifecycle`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from ...autograd import lifecycle
from ...record import Binding, Clear, Cut, Failure, Gradient, Holding, Loop, Owner, Pass, Place, Step, Write
from .nodes import GraphNode, Leaf, Refused, Store, Tensor

__all__ = ["Engine"]

_NO_GRAD = "element {} of tensors does not require grad and does not have a grad_fn"
_TWICE = "Trying to backward through the graph a second time"
_INPLACE = "one of the variables needed for gradient computation has been modified by an inplace operation"

_OF_ALL = ("frozen", "grad")
"""Cuts that leave nothing behind which could say so."""

_STEPPING = {"add_", "sub_", "copy_", "addcdiv_", ".data ="}
"""How parameters are moved along a gradient by hand."""


class Engine:
    """The events of one reading, and the graph they happen to."""

    def __init__(self) -> None:
        self.clock = 0
        self.nodes: list[GraphNode] = []
        self.leaves: list[Leaf] = []
        self.passes: list[Pass] = []
        self.steps: list[Step] = []
        self.clears: list[Clear] = []
        self.writes: list[tuple[Write, int, int]] = []
        """Each with the serial number of the memory that it changed, and the version that it has since then."""
        self.cuts: list[Cut] = []
        self.bindings: list[Binding] = []
        self.holdings: list[Holding] = []
        self.failures: list[Failure] = []
        self.needed: set[Place | None] = set()
        """Where graphs are kept that a later pass may need."""
        self.doubtful = False
        """Whether a pass may have walked more than can be told."""
        self.divided = False
        """Whether a pass walked one of several things that a network that is not read gave: maybe not all of it."""
        self.owners: dict[int, Owner] = {}
        self.listed = True
        """Whether all that any optimizer owns is known."""
        self.never: dict[int, set[Leaf]] = {}
        """The leaves of each optimizer that had no gradient at any of its steps so far."""
        self.copies: set[int] = set()
        """Numbers of the leaves that began as a copy of another one."""
        self.held: set[int] = set()
        """Numbers of the leaves that modules in sight held at the last steps."""
        self.unregistered: dict[int, tuple[str, str, int]] = {}
        """Leaves in plain containers of modules: see `record.Trace`."""
        self.stepping = False
        """Whether an optimizer is evaluating its closure."""
        self.begun: set[int] = set()
        """The nodes of code that is not read that passes began at."""
        self.took: dict[GraphNode, tuple[GraphNode, ...]] = {}
        """What went into calls of values that were given, and has history for certain."""
        self.read: set[int] = set()
        """The passes whose gradients the program has looked at."""
        self.broken: set[lifecycle.Walk[GraphNode]] = set()
        """The passes that failed: what they freed is freed for those that come after, not for who asks why they failed."""
        self.again = False
        """Whether the last pass walked nodes that an earlier one had spent."""
        self._retained: list[tuple[int, set[GraphNode], set[Any]]] = []
        """(index of the pass, what it may have walked) of the passes that kept their graph."""
        self.parted: set[Any] = set()
        """The arguments that were detached somewhere: who does that expects them to have a graph."""
        self.changed: tuple[int, int] | None = None
        """Serial number of the memory whose change a pass failed on, and the version of it that was saved."""
        self._cut_sites: set[tuple[Any, ...]] = set()
        self._enclosed: dict[GraphNode, list[GraphNode]] = {}
        """What reentrant checkpoints gave, and the history that came into each by another way than its arguments."""

    # building ---------------------------------------------------------------------------------------------------------

    def node(
        self,
        op: str,
        parents: Iterable[GraphNode],
        maybe: Iterable[GraphNode],
        place: Place | None,
        stack: tuple[Place, ...] = (),
    ) -> GraphNode:
        """Records one operation."""
        made = GraphNode(len(self.nodes), op, tuple(dict.fromkeys(parents)), tuple(dict.fromkeys(maybe)))
        made.place = place
        made.stack = stack
        made.when = self.clock - 1
        self.nodes.append(made)
        return made

    def leaf(self, tensor: Tensor, name: str = "") -> Leaf:
        """Makes a tensor one that gathers gradients."""
        if tensor.leaf is None:
            node = GraphNode(-1 - len(self.leaves), "AccumulateGrad", (), ())
            tensor.leaf = node.leaf = Leaf(node, name or tensor.name, tensor)
            tensor.store.leaf = tensor.leaf
            self.leaves.append(tensor.leaf)
        elif name and not tensor.leaf.name:
            tensor.leaf.name = name
        return tensor.leaf

    def enclose(self, made: Tensor, given: Iterable[Tensor], before: int) -> None:
        """A reentrant checkpoint has run: `backward` will run what it ran again, and make a pass of its own over that. Its
        arguments are cut off for it; what comes in by another way (a closure, an attribute) that pass walks, and frees."""
        if made.node is None or made.node.number < before:
            return
        own = {t.edge for t in given}
        inner = [n for n in lifecycle.reach([made.node])[0] if n.number >= before]
        outer = [p for n in inner for p in n.parents if p.leaf is None and p.number < before and p not in own]
        if outer:
            self._enclosed[made.node] = list(dict.fromkeys(outer))

    def _pass_inside(self, order: Sequence[GraphNode], record: dict[str, Any]) -> None:
        """The passes of reentrant checkpoints inside one, where one of them comes to what another has freed."""
        freed: dict[GraphNode, GraphNode] = {}
        for made in sorted((n for n in order if n in self._enclosed), key=lambda n: -n.number):
            behind = [n for n in lifecycle.reach(self._enclosed[made])[0] if n.leaf is None]
            known = [n for n in behind if n.saved and not (n.opaque or n.vague or n.unsure)]
            met = max((n for n in known if n in freed), key=lambda n: n.number, default=None)
            if met is None:
                freed.update((n, made) for n in behind)
                continue
            self.passes.append(Pass(**{**record, "walked": frozenset()}))
            walked = frozenset(n.number for n, by in freed.items() if by is freed[met])
            roots: dict[str, Any] = {"roots": (freed[met].number,), "nested": True}
            self.passes.append(Pass(**{**record, **roots, "when": self.tick(), "walked": walked}))
            for node, by in freed.items():
                node.release(by)
            roots["roots"] = (made.number,)
            failure: dict[str, Any] = {"kind": "backward-twice", "node": met.number}
            self._refuse(failure, _TWICE, {**record, **roots, "when": self.tick(), "walked": frozenset()})

    def tick(self) -> int:
        """The moment of the next event."""
        self.clock += 1
        return self.clock - 1

    def swallow(self, count: int) -> None:
        """The program caught the last of so many failures, and went on."""
        if count:
            self.failures[count - 1] = dataclasses.replace(self.failures[count - 1], swallowed=True)

    # what happens -----------------------------------------------------------------------------------------------------

    def cut(self, kind: str, name: str, place: Place | None, node: GraphNode | None = None) -> Cut:
        """History ended here. Each site is told once per moment."""
        site = (kind, place, self.clock)
        made = Cut(self.clock, kind, name, place, None if node is None else node.number)
        if site not in self._cut_sites:
            self._cut_sites.add(site)
            self.cuts.append(made)
        return made

    def explain(self, roots: Iterable[Tensor], recording: bool | None = True) -> None:
        """A pass begins: where roots without history have lost it is the last place that is told.

        A tensor, or a number that was taken out of one, says itself where that was. Where nothing is recorded as the pass
        begins, nothing was before it.
        """
        for root in roots:
            if root.node is not None or not (root.needs is False or root.leaf is not None):
                continue
            lost = root.lost
            if lost is None and root.leaf is None and recording is False:
                lost = Cut(self.clock, "no_grad")
            if lost is None:
                lost = next((c for c in reversed(self.cuts) if c.kind in _OF_ALL), Cut(self.clock, "unknown"))
            self.cuts.append(dataclasses.replace(lost, when=self.clock))

    def write(self, tensor: Tensor, target: str, how: str, place: Place | None, certain: bool = True) -> bool:
        """A tensor was changed in place. Returns whether that is a step made by hand, and looks odd."""
        store = tensor.store
        if certain:
            store.move(place)
            if store.perhaps is not None:
                store.perhaps.doubt = len(self.nodes)
        else:
            store.doubt = len(self.nodes)
        leaf = store.leaf.node.number if store.leaf else None
        self.writes.append((Write(self.tick(), target, leaf, place, how), store.serial, store.count))
        return store.leaf is not None and how in _STEPPING and self._step_by_hand(store.leaf, place)

    def _step_by_hand(self, leaf: Leaf, place: Place | None) -> bool:
        """A parameter that no optimizer owns was moved after the program had read its gradient: once for each time it was read.
        What else is written then (it is kept within bounds) is no step."""
        number = leaf.node.number
        if (
            not self.listed
            or not leaf.read
            or not leaf.has
            or leaf.doubt
            or any(number in o.leaves for o in self.owners.values())
        ):
            return False
        leaf.applied.add(-1)
        leaf.read = False
        self.steps.append(Step(self.clock - 1, "", (number,), place, (number,), {number: leaf.made}))
        return leaf.piled

    def zero(self, leaves: Sequence[Leaf] | None, optimizer: str, place: Place | None) -> bool:
        """Gradients were cleared. Returns whether a pass turns out to have been in vain."""
        unused = any(leaf.made and not leaf.applied and not leaf.read for leaf in leaves or ())
        for leaf in leaves or ():
            leaf.clear()
            leaf.cleared = place
        numbers = None if leaves is None else tuple(leaf.node.number for leaf in leaves)
        self.clears.append(Clear(self.tick(), numbers, place, optimizer))
        return unused

    def look_at(self, leaf: Leaf) -> None:
        """The program reads a gradient: what it is made of was not in vain."""
        self.read |= set(leaf.made or ())

    def step(
        self,
        leaves: Sequence[Leaf] | None,
        optimizer: str,
        identity: int,
        place: Place | None,
        iteration: int | None,
        when: int,
        inside: tuple[int, ...] = (),
        whole: bool = True,
    ) -> bool:
        """An optimizer applied gradients; `leaves` is None where they cannot be told. Returns whether it looks odd.

        Where they are not the `whole` of what it owns, they are still its own.
        """
        sure = (
            leaves is not None
            and whole
            and all(leaf.has and not leaf.doubt and not (leaf.stands and self.divided) for leaf in leaves)
        )
        used: dict[int, Gradient | None] = {}
        moved, empty, stale, piled = [], False, False, False
        earlier = {p.when for p in self.passes if None not in (p.iteration, iteration) and p.iteration < iteration}  # type: ignore[operator]
        never = self.never.setdefault(identity, set(leaves or ()))
        if leaves is None or not whole:
            self.read |= {p.when for p in self.passes}  # whose gradients they were cannot be told
        for leaf in leaves or ():
            used[leaf.node.number] = None if leaf.doubt or leaf.has is None else leaf.made
            filled = identity in leaf.filled
            leaf.filled.discard(identity)
            if leaf.doubt or leaf.has is None:
                leaf.store.doubt = len(self.nodes)
                never.discard(leaf)
                continue
            if not leaf.has:
                empty = empty or filled
                continue
            never.discard(leaf)
            # What an earlier iteration has left, with more on top: a step has applied it, or another's pass has left it.
            left = len(leaf.made or ()) > 1 and not earlier.isdisjoint(leaf.made or ())
            stale, piled = stale or identity in leaf.applied, piled or leaf.piled or left
            leaf.applied.add(identity)
            moved.append(leaf.node.number)
        self.move([leaf for leaf in leaves or () if leaf.node.number in moved], when, place)
        numbers = None if leaves is None else tuple(leaf.node.number for leaf in leaves)
        number = len(self.nodes) if sure else None
        self.steps.append(Step(when, optimizer, numbers, place, tuple(moved), used, iteration, inside, number))
        return bool(piled or stale or empty)

    def move(self, leaves: Sequence[Leaf], when: int, place: Place | None) -> None:
        """A step, or an evaluation inside one, has changed parameters."""
        for leaf in leaves:
            leaf.store.move(place)
            write = Write(when, leaf.name, leaf.node.number, place, "step")
            self.writes.append((write, leaf.store.serial, leaf.store.count))

    def run(
        self,
        roots: Sequence[Tensor],
        *,
        kind: str = "backward",
        inputs: Sequence[Tensor] | None = None,
        retain: bool | None = False,
        create: bool | None = False,
        place: Place | None = None,
        stack: tuple[Place, ...] = (),
        iteration: int | None = None,
        loops: tuple[Loop, ...] = (),
        nested: bool = False,
        recording: bool | None = None,
        optimizers: dict[str, int] | None = None,
    ) -> list[GraphNode]:
        """One pass. Returns the nodes it executed; raises `Refused` where PyTorch would refuse."""
        when, self.again = self.tick(), False
        start = [(n, 0) for r in roots if (n := r.edge) is not None]
        goals = None if inputs is None else [(n, 0) for t in inputs if (n := t.edge) is not None]
        walk = lifecycle.Walk(kind, start, retain, goals)
        reached, maybe = walk.reached, walk.maybe
        order = [n for n, needed in walk.order() if needed is not None]
        certain = set(order)
        record: dict[str, Any] = {
            "when": when,
            "kind": kind,
            "roots": tuple(n.number for n, _ in start),
            "inputs": None if goals is None else tuple(n.number for n, _ in goals),
            "retain": retain is True,
            "create": create is True,
            "place": place,
            "stack": stack,
            "walked": frozenset(n.number for n in order if not n.opaque),
            "iteration": iteration,
            "loops": loops,
            "nested": nested,
            "recording": recording,
            "optimizers": optimizers or {},
            "behind": self._behind(kind, reached, maybe),
            "number": len(self.nodes),
        }
        if self.stepping:
            record["found"] = {leaf.node.number: leaf.made for leaf in self.leaves if leaf.made != ()}
            record["versions"] = {leaf.node.number: leaf.store.count for leaf in self.leaves}
        # What a network that is not read may share among the things it gives leads to no other leaves.
        dim = {n for n in maybe if not n.network} | {n for n in reached if n.opaque}
        # What may or may not be recorded leads to leaves that are known: they are not missed. An unread call leads to any.
        murky = any(n.opaque for n in dim)
        if goals is not None and reached.isdisjoint(n for n, _ in goals):
            dim |= reached  # how it gets to what it was asked for cannot be told
            murky = True
        self.divided = self.divided or any(n.network and n.maybe for n in certain)
        unread = any(r.edge is None and r.needs is None for r in roots)
        taken = {a for n in reached | maybe for a in n.arguments}
        self._doubt_retains(dim | maybe, taken, stack)
        if record["retain"]:
            nodes = {n for n in reached | maybe if n.leaf is None and not n.hollow}
            self._retained.append((len(self.passes), nodes, taken))
            if unread or (dim and _blind(reached | maybe)) or any(map(_is_rootless, reached | maybe)):
                self.needed.add(place)  # what cannot be read may use the graph again
        self.doubtful = self.doubtful or murky or unread
        bare = next((i for i, r in enumerate(roots) if r.needs is False and r.edge is None), None)
        if bare is not None:
            self._refuse({"kind": "no-grad"}, _NO_GRAD.format(bare), record)
        if self._enclosed and kind == "backward" and inputs is None:
            self._pass_inside(order, record)
        refused = self._walk(walk, order)
        if refused is not None:
            self.broken.add(walk)
            if kind == "backward":
                self._gather(set(walk.walked), set(), inputs, when)
            self._refuse(*self._failure(refused), record)
        index = len(self.passes)
        self.passes.append(Pass(**record))
        for node in maybe if retain is not True else ():
            node.may_release()
        if kind == "backward":
            blind = unread or any(n.opaque and n.given is None for n in reached | maybe)
            if blind:
                # Behind a call that could not be read, any parameter may have been used; behind one of a value that was
                # given, those of what went in, and its own.
                maybe = maybe | {leaf.node for leaf in self.leaves} - certain
            made = None if create is False else self.derivative(order, create, place, stack, loops)
            filled = self._gather(certain, maybe, inputs, when, made)
            if inputs is None and not blind and not any(n.leaf for n in maybe - certain):
                self.passes[index] = dataclasses.replace(self.passes[index], filled=filled)
        return [n for n in order if n.leaf is None]

    def _walk(self, walk: lifecycle.Walk[GraphNode], order: Sequence[GraphNode]) -> lifecycle.Refusal | None:
        """Walks the nodes, and stops where one cannot give what it saved."""
        sure, doubt = True, len(order)
        for position, node in enumerate(order):
            refused = node.refusal() if sure else None
            if refused is not None:
                if refused.kind != "unknown":
                    for late in order[doubt:]:
                        late.freed_by = lifecycle.MAYBE if late.freed_by is walk else late.freed_by
                    return refused
                sure = False  # whether the pass came further cannot be told
            if walk.retain is False and node.freed:
                self.again = True
            if node.unsure and node.may_refuse():
                doubt = min(doubt, position)  # the pass fails here, or later
            walk.finish(node)
        return None

    def _failure(self, refused: lifecycle.Refusal) -> tuple[dict[str, Any], str]:
        """What is to be recorded of a refusal, and PyTorch's message."""
        number, store = refused.node.number, refused.saved[3]
        if refused.kind == "freed":
            return {"kind": "backward-twice", "node": number}, _TWICE
        assert isinstance(store, Store)
        self.changed = (store.serial, refused.saved[4])
        leaf = store.leaf.node.number if store.leaf else None
        return {"kind": "inplace", "node": number, "saved": refused.saved[0], "leaf": leaf}, _INPLACE

    def _refuse(self, failure: dict[str, Any], message: str, record: dict[str, Any]) -> NoReturn:
        self.passes.append(Pass(outcome="failed", **record))
        where = {"place": record["place"], "stack": record["stack"]}
        self.failures.append(Failure(record["when"], message=message, **where, **failure))
        raise Refused(failure["kind"], message)

    def _behind(self, kind: str, reached: set[GraphNode], maybe: set[GraphNode]) -> frozenset[int] | None:
        """The leaves behind the roots of a `grad`; None where there may be others."""
        if kind != "grad" or maybe or any(n.opaque for n in reached):
            return None
        return frozenset(n.number for n in reached if n.leaf is not None)

    def derivative(
        self,
        walked: Iterable[GraphNode],
        create: bool | None,
        place: Place | None,
        stack: tuple[Place, ...],
        loops: tuple[Loop, ...],
    ) -> GraphNode:
        """The history of the gradients that a pass with `create_graph` makes: of what the nodes it walked had saved."""
        walked = [n for n in walked if n.leaf is None]
        parents: dict[GraphNode, bool] = {}
        for node in walked:
            for _, kept, _, _ in node.keeps:
                if kept.needs and kept.edge is not None:
                    # Which of several derivatives reads its own result is not known.
                    sure = bool(create) and (kept.node is not node or len(node.edges) == 1)
                    parents[kept.edge] = sure or parents.get(kept.edge, False)
        certain, doubtful = [n for n, sure in parents.items() if sure], [n for n, sure in parents.items() if not sure]
        made = self.node("MulBackward0", certain, doubtful, place, stack)
        made.loops = loops
        made.save(("self",))
        made.opaque = not parents or any(n.opaque for n in walked)  # what could not be read may lie behind it
        return made

    def also_walked(self, node: GraphNode, behind: GraphNode) -> None:
        """The passes that walked a node turn out to have walked one behind it."""
        for index, p in enumerate(self.passes):
            if p.walked is not None and node.number in p.walked:
                self.passes[index] = dataclasses.replace(p, walked=p.walked | {behind.number})

    def keep_since(self, index: int) -> None:
        """Turns that were not looked at may walk again what the passes since then have kept."""
        self.needed.update(p.place for p in self.passes[index:] if p.retain)

    def unknown_pass(self, roots: Sequence[GraphNode], place: Place | None, stack: tuple[Place, ...]) -> None:
        """A pass may have run, from roots that may be these: of what it walked, if any, nothing is certain afterwards."""
        self.doubtful = True
        self.needed.update(p.place for p in self.passes if p.retain)
        when = self.tick()
        self.passes.append(Pass(when, retain=True, place=place, stack=stack))
        reached, maybe = lifecycle.reach(roots)
        walked = {*reached, *maybe}
        for node in walked:
            node.may_release()
        self._gather(set(), walked if roots else {leaf.node for leaf in self.leaves}, None, when)

    def _doubt_retains(self, dim: set[GraphNode], taken: set[Any], stack: tuple[Place, ...]) -> None:
        """A pass that may walk what an earlier one kept: whether it had to be kept cannot be told.

        Behind an argument that both come to there may be a graph; one that every turn of a loop comes to is data, unless the
        program detaches it elsewhere.
        """
        for index, kept, had in self._retained if dim or taken else ():
            other = self.passes[index]
            both = taken & had
            if not dim.isdisjoint(kept) or (both and (other.stack != stack or not both.isdisjoint(self.parted))):
                self.needed.add(other.place)

    def _gather(
        self,
        certain: set[GraphNode],
        maybe: set[GraphNode],
        inputs: Sequence[Tensor] | None,
        when: int,
        made: GraphNode | None = None,
    ) -> tuple[int, ...]:
        """Gives leaves their gradients; `made` is the history of those of a pass with `create_graph`."""
        filled = []
        for node in certain:
            # A leaf that was frozen since then takes nothing.
            if node.leaf and node.leaf.tensor.needs is not False and (inputs is None or node.leaf.tensor in inputs):
                filled.append(node.number)
                node.leaf.fill(when)
                node.leaf.filled = set(self.owners)
                self._renew(node.leaf, made)
        for node in maybe:
            if node.leaf is None:
                continue
            if made is not None:
                self._renew(node.leaf, made)
            had = node.leaf.has
            node.leaf.may_fill()
            if not had:
                for never in self.never.values():
                    never.discard(node.leaf)
        return tuple(filled)

    def _renew(self, leaf: Leaf, made: GraphNode | None) -> None:
        """A new gradient is added to what is there: in place, or with `create_graph` as one more operation."""
        old = leaf.grad.node if leaf.grad is not None else None
        if made is None:
            leaf.grad = leaf.grad if old is not None else None
            return
        node = made
        if old is not None:
            node = self.node("AddBackward0", (made, old), (), made.place, made.stack)
            node.loops, node.opaque = made.loops, made.opaque or old.opaque
        leaf.grad = Tensor(None if node.opaque or not node.parents else True, node)
        leaf.grad.grad_of = leaf


def _is_rootless(node: GraphNode) -> bool:
    """Whether an operation was recorded on nothing that is known: what gave it a history cannot be told."""
    return not (node.edges or node.maybe or node.opaque or node.leaf)


def _blind(nodes: set[GraphNode]) -> bool:
    """Whether there is more behind these nodes than calls that keep no graph."""
    calls = [n for n in nodes if (n.opaque or n.given is not None) and not n.hollow]
    return not calls or any(n.given is None for n in calls)
