# SPDX-License-Identifier: BSD-3-Clause
"""From the graph of a reading to the record that causes are found in."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from ..record import Node, Trace
from .graph import Engine

__all__ = ["swallow", "trace"]


def swallow(engine: Engine, before: int) -> None:
    """The program caught the failure before this one and went on."""
    if before:
        engine.failures[before - 1] = dataclasses.replace(engine.failures[before - 1], swallowed=True)


def trace(engine: Engine, sources: Mapping[str, str], ended: bool) -> Trace:
    """The record of one reading."""
    nodes = {
        n.number: Node(
            n.number,
            n.op,
            tuple(p.number for p in n.parents),
            n.saved,
            place=n.place,
            stack=n.stack,
            when=n.when,
            spent=n.spent,
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
        writes=tuple(engine.writes),
        cuts=tuple(engine.cuts),
        sightings=tuple(engine.sightings),
        holdings=tuple(engine.holdings),
        failures=tuple(engine.failures),
        owners=tuple(engine.owners.values()),
        ended=ended,
        producer="check",
        sources=dict(sources),
    )
