# SPDX-License-Identifier: BSD-3-Clause
"""One pass: which nodes it walks, in which order, and what it frees. See NOTE [ The order of a pass ]."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from .nodes import LAST, Edge, Node

__all__ = ["Walk", "reach"]

N = TypeVar("N", bound=Node)


def _taken(node: Node) -> Sequence[Edge | None]:
    """The edges that lead on from a node that is reached: NOTE [ Certain and maybe ] 3."""
    if node.maybe and not node.edges and len(node.maybe) == 1 and not node.opaque:
        return ((node.maybe[0], 0),)
    return node.edges


def reach(roots: Iterable[N]) -> tuple[dict[N, int], set[N]]:
    """What a pass from some nodes reaches for certain, with how many edges lead to it; and what it may reach."""
    counts: dict[Node, int] = {}
    todo: list[Node] = []
    for root in roots:
        counts[root] = counts.get(root, 0) + 1
        if counts[root] == 1:
            todo.append(root)
    doubtful: list[Node] = []
    while todo:
        node = todo.pop()
        edges = node.edges
        if node.maybe:
            edges = _taken(node)
            if edges is node.edges:
                doubtful.extend(node.maybe)
        for edge in edges:
            if edge is not None:
                to = edge[0]
                if to in counts:
                    counts[to] += 1
                else:
                    counts[to] = 1
                    todo.append(to)
    maybe: set[Node] = set()
    while doubtful:
        node = doubtful.pop()
        if node not in maybe and node not in counts:
            maybe.add(node)
            doubtful.extend(e[0] for e in node.edges if e is not None)
            doubtful.extend(node.maybe)
    return counts, maybe  # type: ignore[return-value]  # nodes lead to nodes of their own kind


class Walk(Generic[N]):
    """One pass: what it starts from, its flags, and what it has walked."""

    def __init__(
        self, kind: str, roots: Sequence[tuple[N, int]], retain: bool | None, inputs: Sequence[tuple[N, int]] | None
    ) -> None:
        self.kind, self.roots, self.retain, self.inputs = kind, roots, retain, inputs
        self.walked: list[N] = []
        self._counts, self.maybe = reach(node for node, _ in roots)

    @property
    def reached(self) -> set[N]:
        """All nodes behind the roots, on the way to `inputs` or not."""
        return set(self._counts)

    def order(self) -> Iterator[tuple[N, list[bool] | None]]:
        """The nodes that it walks, one after the other, each with which of its edges a gradient goes to; None at an
        input of a `grad()`, where it stops."""
        waiting, self._counts = self._counts, {}  # a pass that is over holds no node that it did not walk
        inputs = None if self.inputs is None else {node for node, _ in self.inputs}
        path = None if inputs is None else self._leading_to(inputs)
        stops = inputs if inputs is not None and self.kind == "grad" else ()
        ready: list[tuple[int, int, N]] = []
        ticket = itertools.count()

        def arrive(node: N) -> None:
            waiting[node] -= 1
            if not waiting[node] and (path is None or node in path):
                rank = node.number if node.number >= 0 else LAST
                heapq.heappush(ready, (-rank, next(ticket), node))

        for node, _ in self.roots:
            arrive(node)
        while ready:
            node = heapq.heappop(ready)[2]
            edges = _taken(node)
            needed = [e is not None and (path is None or e[0] in path) for e in edges]
            if node in stops and not any(needed):
                yield node, None
                continue
            yield node, needed
            for edge in edges:
                if edge is not None:
                    arrive(edge[0])  # type: ignore[arg-type]

    def _leading_to(self, targets: set[N]) -> set[Node]:
        """The nodes on a path from the roots to a target, targets included."""
        path: set[Node] = set(targets)
        seen: set[Node] = set()
        todo: list[tuple[Node, bool]] = [(node, False) for node, _ in self.roots]
        while todo:
            node, after = todo.pop()
            if after:
                if any(e is not None and e[0] in path for e in _taken(node)):
                    path.add(node)
            elif node not in seen:
                seen.add(node)
                todo.append((node, True))
                todo.extend((e[0], False) for e in _taken(node) if e is not None)
        return path

    def finish(self, node: N) -> None:
        """A node has been walked."""
        self.walked.append(node)
        if 0 <= node.number < LAST:  # a leaf has nothing to free
            if self.retain is None:
                node.may_release()
            elif not self.retain:
                node.release(self)
