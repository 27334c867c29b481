# SPDX-License-Identifier: BSD-3-Clause
"""From the graph of a reading to the record that causes are found in."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import islice

from ..record import Cut, Holding, Node, Owner, Place, Trace, Write
from .graph import Engine
from .machine import Machine
from .nodes import GraphNode

__all__ = ["swallow", "trace"]


def swallow(engine: Engine, before: int) -> None:
    """The program caught the failure before this one and went on."""
    if before:
        engine.failures[before - 1] = dataclasses.replace(engine.failures[before - 1], swallowed=True)


def _running(engine: Engine) -> Iterator[Holding]:
    """Sums that were built from what the same name held before: their history grows."""
    last: dict[str, tuple[int, int]] = {}
    # What passes walk is part of a computation (weights that are adapted, a state); a sum for the log is not.
    walked = frozenset().union(*(p.walked for p in engine.passes if p.walked))
    # A sum of gradients is built by the passes that take them; only training goes on and on.
    other = {p.when for p in engine.passes if p.kind != "backward"}
    for seen in engine.sightings:
        if seen.number in walked or seen.when in other:
            continue
        before, length = last.get(seen.name, (-1, 0))
        if seen.number == before:
            continue
        length = length + 1 if _built_from(engine.nodes[seen.number], before) else 0
        last[seen.name] = (seen.number, length)
        if length:
            yield Holding(seen.when, seen.name, "running", length, (seen.name,))


def _built_from(node: GraphNode, number: int) -> bool:
    """Whether the statement that made a node took in the one of that number."""
    todo = [node]
    while todo:
        here = todo.pop()
        if any(p.number == number for p in here.parents):
            return True
        todo.extend(p for p in here.parents if p.place == node.place and p.number > number)
    return False


def _writes(engine: Engine) -> Iterator[Write]:
    """The writes; where a pass failed on changed memory, only those that changed it since it was saved."""
    serial, node = engine.changed or (None, -1)
    for write, changed, count in engine.writes:
        if serial is None or (serial == changed and node < count):
            yield write


def _cuts(engine: Engine) -> Iterator[Cut]:
    """Where history ended. That parameters are frozen explains a loss without history only if none is left."""
    frozen = bool(engine.leaves) and all(leaf.tensor.needs is False for leaf in engine.leaves)
    return (c for c in engine.cuts if (c.kind == "frozen") == frozen)


def _owners(engine: Engine) -> Iterator[Owner]:
    for owner in engine.owners.values():
        # A pass that may have gone further than can be told may have reached what seems never to be reached.
        yield dataclasses.replace(owner, never=(), orphans=()) if engine.doubtful else owner


def trace(m: Machine, sources: Mapping[str, str], ended: bool) -> Trace:
    """The record of one reading."""
    engine = m.engine
    nodes = {
        n.number: Node(
            n.number,
            n.op,
            tuple(p.number for p in n.parents),
            n.saved,
            place=n.place,
            stack=n.stack,
            when=n.when,
            spent=None if n.opaque or n.vague else n.spent,
            loops=n.loops,
        )
        for n in engine.nodes
    }
    for leaf in engine.leaves:
        nodes[leaf.node.number] = Node(leaf.node.number, "AccumulateGrad", (), (), leaf=leaf.name, when=-1)
    return Trace(
        nodes=nodes,
        passes=tuple(engine.passes),
        steps=tuple(engine.steps),
        zero_grads=tuple(engine.zeros),
        writes=tuple(_writes(engine)),
        cuts=tuple(_cuts(engine)),
        sightings=tuple(engine.sightings),
        holdings=(*engine.holdings, *_running(engine)),
        failures=tuple(engine.failures),
        owners=tuple(_owners(engine)),
        ended=ended,
        producer="check",
        sources=dict(sources),
        called=tuple(Place(*key) for key in islice(m.ran, m.trained)),
    )
