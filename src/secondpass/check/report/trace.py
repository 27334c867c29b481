# SPDX-License-Identifier: BSD-3-Clause
"""From the graph of a reading to the record that causes are found in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import islice

from ...autograd.lifecycle import reach
from ...record import Binding, Cut, Holding, Node, Owner, Pass, Path, Place, Trace, Write
from ..interpreter.graph import Engine
from ..interpreter.machine import Machine
from ..interpreter.nodes import GraphNode

__all__ = ["trace"]

_TERMS = 12


def _bindings(engine: Engine) -> Iterator[Binding]:
    """What names held; sums with what they were made of."""
    # A sum of gradients is built by the passes that take them; only training goes on and on.
    other = {p.when for p in engine.passes if p.kind != "backward"}
    rooted = _rooted(engine)
    bare = {number for owner in engine.owners.values() for number in owner.bare or ()}
    walked = {p.when: p.walked or frozenset() for p in engine.passes}
    last = engine.passes[-1].when if engine.passes else -1
    for seen in engine.bindings:
        node = engine.nodes[seen.number]
        if seen.when not in other and seen.number in rooted:
            seen = dataclasses.replace(seen, terms=_terms(node))
        if bare and seen.when == last and seen.number not in walked[last]:
            seen = dataclasses.replace(seen, leaves=_leaves(node, bare), single=_is_single(node) or None)
        elif other and seen.when not in other:
            seen = dataclasses.replace(seen, single=_is_single(node) or None)
        yield seen
        if seen.single:
            bare -= set(seen.leaves)
    if bare and not engine.doubtful:
        yield from _aside(engine, bare, last)


def _aside(engine: Engine, bare: set[int], last: int) -> Iterator[Binding]:
    """The last numbers that were computed from leaves without a gradient, and that nothing walks: losses of functions that
    have returned, so that no name holds them when the pass begins."""
    walked = {number for p in engine.passes for number in p.walked or ()}
    tried: set[Place | None] = set()
    for node in reversed(engine.nodes):
        if not bare:
            return
        if node.number not in walked and node.when < last and node.place not in tried and _is_single(node):
            tried.add(node.place)
            leaves = _leaves(node, bare)
            if leaves:
                bare = bare - set(leaves)
                function = node.place.function if node.place else ""
                yield Binding(last, Path(""), node.number, node.freed, function, single=True, leaves=leaves)


def _rooted(engine: Engine) -> set[int]:
    """The nodes behind which a leaf lies for certain: a sum of what may have no history at all keeps none."""
    found = set(engine.begun)
    for node in engine.nodes:
        behind = node.parents or (node.maybe if len(node.maybe) == 1 and not node.opaque else ())
        if any(n.leaf is not None or n.number in found for n in behind):
            found.add(node.number)
    return found


def _holdings(engine: Engine) -> Iterator[Holding]:
    """What containers held. Between gradients that are taken for a loss (inner steps of meta-learning) they only fill."""
    other = {p.when for p in engine.passes if p.kind != "backward"}
    return (h for h in engine.holdings if h.when not in other)


_REDUCED = {"MeanBackward0", "SumBackward0", "ProdBackward0", "MaxBackward1", "MinBackward1"}
_EACH = {
    "AddBackward0", "SubBackward0", "RsubBackward1", "MulBackward0", "DivBackward0", "NegBackward0", "SqrtBackward0",
}  # fmt: skip


def _is_single(node: GraphNode) -> bool:
    """Whether a tensor has one element for certain: a reduction to a number, or what is computed from such alone."""
    todo, seen = [node], {node}
    while todo:
        here = todo.pop()
        if here.single or (here.single is False and here.name_ in _REDUCED):
            continue
        if here.name_ not in _EACH or not here.edges or here.maybe:
            return False
        todo += [n for n, _ in here.edges if n not in seen]
        seen.update(n for n, _ in here.edges)
    return True


def _leaves(node: GraphNode, among: set[int]) -> tuple[int, ...]:
    """The leaves among these that lie behind a node for certain."""
    return tuple(sorted(n.number for n in reach([node])[0] if n.number in among))


def _terms(node: GraphNode) -> tuple[int, ...]:
    """What the statement that made a node took in."""
    found: list[int] = []
    todo = [node]
    while todo and len(found) < _TERMS:
        here = todo.pop()
        found += [p.number for p, _ in here.edges]
        todo.extend([p for p, _ in here.edges if p.place == node.place])
    return tuple(found)


def _again(engine: Engine) -> dict[int, int]:
    """How often the statement of each node ran again: in how many other iterations it made later nodes."""
    found: dict[int, int] = {}
    later: dict[Place, set[object]] = {}
    for node in reversed(engine.nodes):
        if node.place is not None:
            seen = later.setdefault(node.place, set())
            turn = (node.loops, node.stack)
            found[node.number] = len(seen - {turn})
            seen.add(turn)
    return found


def _passes(engine: Engine) -> Iterator[Pass]:
    """The passes, with what the program has read of their gradients."""
    for p in engine.passes:
        yield dataclasses.replace(p, read=p.when in engine.read)


def _writes(engine: Engine) -> Iterator[Write]:
    """The writes; where a pass failed on changed memory, only those that changed it since it was saved."""
    serial, saved = engine.changed or (None, -1)
    for write, changed, version in engine.writes:
        if serial is None or (serial == changed and saved < version):
            yield write


def _cuts(engine: Engine) -> Iterator[Cut]:
    """Where history ended. That parameters are frozen explains a loss without history only if none is left."""
    frozen = bool(engine.leaves) and all(leaf.tensor.needs is False for leaf in engine.leaves)
    walked = {number for p in engine.passes for number in p.walked or ()}
    used = {(c.kind, c.place) for n in engine.nodes if n.number in walked and (c := n.without) is not None}
    for cut in engine.cuts:
        if (cut.kind == "frozen") == frozen:
            yield dataclasses.replace(cut, reached=(cut.kind, cut.place) in used)
        elif (
            cut is engine.cuts[-1]
        ):  # what a loss that has none was put down to: an earlier cut does not explain it either
            yield Cut(cut.when, "unknown")


def _owners(engine: Engine) -> Iterator[Owner]:
    for owner in engine.owners.values():
        # A pass that may have gone further than can be told may have reached what seems never to be reached.
        moved = {w.leaf for w, _, _ in engine.writes if w.how != "step" and w.when > (owner.first or 0)}
        alike = tuple(n for n in owner.bare or () if n in engine.copies or n in moved)
        yield dataclasses.replace(owner, bare=None) if engine.doubtful else dataclasses.replace(owner, kept_alike=alike)


def trace(m: Machine, sources: Mapping[str, str], ended: bool) -> Trace:
    """The record of one reading."""
    engine = m.engine
    again = _again(engine)
    nodes = {
        n.number: Node(
            n.number,
            n.name_,
            tuple([p.number for p, _ in n.edges]),
            n.saves,
            place=n.place,
            stack=n.stack,
            when=n.when,
            freed=None if n.opaque or n.vague else n.freed and n.freed_by not in engine.broken,
            loops=n.loops,
            again=again.get(n.number),
        )
        for n in engine.nodes
    }
    for leaf in engine.leaves:
        nodes[leaf.node.number] = Node(leaf.node.number, "AccumulateGrad", (), (), leaf=leaf.name, when=-1)
    return Trace(
        nodes=nodes,
        passes=tuple(_passes(engine)),
        steps=tuple(engine.steps),
        clears=tuple(engine.clears),
        writes=tuple(_writes(engine)),
        cuts=tuple(_cuts(engine)),
        bindings=tuple(_bindings(engine)),
        holdings=tuple(_holdings(engine)),
        failures=tuple(engine.failures),
        owners=tuple(_owners(engine)),
        held=frozenset(engine.held),
        unregistered=dict(engine.unregistered),
        ended=ended,
        producer="check",
        sources=dict(sources),
        called=tuple(Place(*key) for key in islice(m.ran, m.trained)),
    )
