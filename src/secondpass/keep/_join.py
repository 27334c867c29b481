# SPDX-License-Identifier: BSD-3-Clause
"""Where the graphs of several losses join."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ._graph import Node, walk

__all__ = ["Join", "join"]


@dataclass(frozen=True)
class Join:
    """The border between what one loss alone needs and what several share."""

    roots: list[torch.Tensor]
    edges: list[tuple[Node, int]]
    """Where gradients enter the shared part."""
    cuts: list[list[int]]
    """For each loss the edges that it feeds."""
    shared: frozenset[Node]

    def head_only(self, node: Node) -> bool:
        return node not in self.shared

    def reached(self, nodes: list[Node]) -> list[list[bool]]:
        """For each loss, which of the nodes its part of the border leads to."""
        if len(self.edges) == 1:  # everything that is shared lies behind it
            return [[node in self.shared for node in nodes]] * len(self.cuts)
        by_edge = []
        for start, _ in self.edges:
            found = set(walk([start]))
            by_edge.append([node in found for node in nodes])
        return [[any(by_edge[edge][i] for edge in cut) for i in range(len(nodes))] for cut in self.cuts]


def join(roots: list[torch.Tensor]) -> Join | None:
    """Finds the border, or None where the losses share nothing or one of them is all shared."""
    below: dict[Node, list[tuple[Node, int]]] = {}  # asking a node anew costs as much as all the rest
    owner: dict[Node, int] = {}
    shared: set[Node] = set()
    for number, root in enumerate(roots):
        if root.grad_fn is None:
            return None
        todo = [root.grad_fn]
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
        everything = frozenset(walk([root.grad_fn for root in roots]))
        ends = list(dict.fromkeys((root.grad_fn, root.output_nr) for root in roots))
        return Join(roots, ends, [[ends.index((root.grad_fn, root.output_nr))] for root in roots], everything)
    return Join(roots, list(edges), cuts, frozenset(shared))


def _share(start: Node, below: dict[Node, list[tuple[Node, int]]], shared: set[Node]) -> None:
    """A node that a second loss reaches: everything behind it is shared too, and the first loss has been there."""
    todo = [start]
    while todo:
        node = todo.pop()
        if node not in shared:
            shared.add(node)
            todo += [child for child, _ in below[node]]
