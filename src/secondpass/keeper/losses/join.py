# SPDX-License-Identifier: BSD-3-Clause
"""Where the graphs of several losses join."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.autograd.graph import get_gradient_edge

from ..saved.graph import Node, walk

__all__ = ["Feed", "Join", "join"]


class Feed(NamedTuple):
    """A node of one loss that leads to the shared part: by which of its edges, and to which one of the border."""

    node: Node
    place: int
    edge: int


@dataclass(frozen=True)
class Join:
    """The border between what one loss alone needs and what several share."""

    roots: list[torch.Tensor]
    edges: list[tuple[Node, int]]
    """Where gradients enter the shared part."""
    cuts: list[list[int]]
    """For each loss the edges that it feeds."""
    feeds: list[list[Feed]]
    """For each loss what feeds them; nothing where the loss is a part of the border itself."""
    own: list[set[int]]
    """For each loss the inputs that only it has."""
    trunk: list[bool]
    """For each input: does it lie in the shared part?"""
    reached: list[list[bool]]
    """For each loss: which of those inputs may its part of the border lead to?"""

    @property
    def likeness(self) -> Hashable:
        """Equal for graphs that one program builds again and again."""
        return tuple((node.name(), place) for node, place in self.edges), tuple(map(tuple, self.cuts))


def join(roots: list[torch.Tensor], wanted: list[torch.Tensor]) -> Join | None:
    """Finds the border, or None where the losses share nothing or one of them has no history."""
    if any(root.grad_fn is None for root in roots):
        return None
    return _neck(roots, wanted) or _border(roots, wanted)


def _neck(roots: list[torch.Tensor], wanted: list[torch.Tensor]) -> Join | None:
    """The usual case: heads of their own on one output. Only the heads are looked at, latest nodes first.

    None where it is not so, or cannot be told without a look at all of the graph.
    """
    feeds: dict[Node, list[tuple[int, int]]] = {}  # losses that reach a node, and by which of its outputs
    todo: list[tuple[int, int, Node]] = []
    heads: dict[Node, int] = {}
    leaves: set[int] = set()

    def reach(node: Node, loss: int, place: int) -> None:
        if node not in feeds:
            feeds[node] = []
            heapq.heappush(todo, (-node._sequence_nr(), len(feeds), node))
        feeds[node].append((loss, place))

    for number, root in enumerate(roots):
        reach(root.grad_fn, number, root.output_nr)
    while todo:
        order, _, node = heapq.heappop(todo)
        loss = feeds[node][0][0]
        if any(other != loss for other, _ in feeds[node]):
            break
        heads[node] = loss
        for child, place in node.next_functions:
            if child is None:
                continue
            if child.name().endswith("AccumulateGrad"):
                leaves.add(id(child.variable))
            else:
                if -child._sequence_nr() <= order:  # made by another thread: numbers do not tell the order
                    return None
                reach(child, loss, place)
    else:
        return None
    if todo or {loss for loss, _ in feeds[node]} != set(range(len(roots))):
        return None
    if any(id(value) in leaves if value.grad_fn is None else value.grad_fn in heads for value in wanted):
        return None
    places = {place: number for number, place in enumerate(dict.fromkeys(place for _, place in feeds[node]))}
    cuts: list[list[int]] = [[] for _ in roots]
    for loss, place in dict.fromkeys(feeds[node]):
        cuts[loss].append(places[place])
    edges = {(node, place): number for place, number in places.items()}
    everywhere = [True] * len(wanted)
    alone: list[set[int]] = [set() for _ in roots]
    return Join(
        roots, list(edges), cuts, _feeds(heads, edges, len(roots)), alone, everywhere, [everywhere] * len(roots)
    )


def _border(roots: list[torch.Tensor], wanted: list[torch.Tensor]) -> Join | None:
    """Any case, after a look at all of the graph."""
    below: dict[Node, list[tuple[Node, int]]] = {}  # asking a node anew costs as much as all the rest
    owner: dict[Node, int] = {}
    shared: set[Node] = set()
    for number, root in enumerate(roots):
        todo: list[Node] = [root.grad_fn]
        while todo:
            node = todo.pop()
            if node in shared:
                continue
            if node not in owner:
                owner[node] = number
                below[node] = [(child, place) for child, place in node.next_functions if child is not None]
                todo += [child for child, _ in below[node]]
            elif owner[node] != number:
                _share(node, below, shared)
    if not shared:
        return None
    edges: dict[tuple[Node, int], int] = {}
    cuts: list[list[int]] = []
    mine: dict[int, list[Node]] = {}
    for node, number in owner.items():
        if node not in shared:
            mine.setdefault(number, []).append(node)
    for number, root in enumerate(roots):
        if root.grad_fn in shared:
            cuts.append([edges.setdefault((root.grad_fn, root.output_nr), len(edges))])
            continue
        found: dict[int, None] = {}
        for node in mine[number]:
            for edge in below[node]:
                if edge[0] in shared:
                    found[edges.setdefault(edge, len(edges))] = None
        cuts.append(list(found))
    border = {node for node, _ in edges}
    behind = walk([child for node in border for child, _ in node.next_functions]) if len(border) > 1 else []
    if not border.isdisjoint(behind):
        # One border lies behind another: a head cannot be walked alone. All belongs to the shared part then.
        shared = set(walk([root.grad_fn for root in roots]))
        ends = list(dict.fromkeys((root.grad_fn, root.output_nr) for root in roots))
        edges = {end: number for number, end in enumerate(ends)}
        cuts = [[edges[root.grad_fn, root.output_nr]] for root in roots]
    heads = {node: number for node, number in owner.items() if node not in shared}
    nodes = [get_gradient_edge(value).node for value in wanted]
    reached = _reached(list(edges), cuts, nodes, shared)
    own = [{place for place, node in enumerate(nodes) if heads.get(node) == number} for number in range(len(roots))]
    feeds = _feeds(heads, edges, len(roots))
    return Join(roots, list(edges), cuts, feeds, own, [node in shared for node in nodes], reached)


def _feeds(heads: dict[Node, int], edges: dict[tuple[Node, int], int], count: int) -> list[list[Feed]]:
    found: list[list[Feed]] = [[] for _ in range(count)]
    for node, loss in heads.items():
        for index, edge in enumerate(node.next_functions):
            if edge in edges:
                found[loss].append(Feed(node, index, edges[edge]))
    return found


def _share(start: Node, below: dict[Node, list[tuple[Node, int]]], shared: set[Node]) -> None:
    """A node that a second loss reaches: everything behind it is shared too, and the first loss has been there."""
    todo = [start]
    while todo:
        node = todo.pop()
        if node not in shared:
            shared.add(node)
            todo += [child for child, _ in below[node]]


def _reached(
    edges: list[tuple[Node, int]], cuts: list[list[int]], nodes: list[Node], shared: set[Node]
) -> list[list[bool]]:
    """For each loss, which of the nodes its part of the border leads to."""
    if len(edges) == 1:  # everything that is shared lies behind it
        return [[bool(cut) and node in shared for node in nodes] for cut in cuts]
    by_edge = []
    for start, _ in edges:
        found = set(walk([start]))
        by_edge.append([node in found for node in nodes])
    return [[any(by_edge[edge][i] for edge in cut) for i in range(len(nodes))] for cut in cuts]
