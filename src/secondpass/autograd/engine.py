# SPDX-License-Identifier: BSD-3-Clause
"""The walk.

NOTE [ The order of a pass ]
1. A node is ready when every edge of this pass that leads to it has delivered (or been found to carry nothing).
2. Of the ready nodes the one with the highest number goes first; leaves have the highest of all.
3. With `inputs`, only nodes on a path to one of them are walked: the others stay as they are, unspent.
4. `grad()` stops at its inputs without walking them; `backward(inputs=...)` walks them too.
5. Each node is spent right after it was walked, before its gradients are handed on.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from .graph import Edge, Node
from .place import Spot, here, place
from .state import state

__all__ = ["Walk"]


class Walk:
    """One pass: what it starts from, its flags, and what came of it."""

    def __init__(
        self, kind: str, roots: Sequence[Edge], retain: bool, create: bool, inputs: Sequence[Edge] | None
    ) -> None:
        state.walks += 1
        self.number = state.walks
        self.kind, self.roots, self.retain, self.create, self.inputs = kind, list(roots), retain, create, inputs
        self.walked: list[Node] = []
        self.spot: Spot | None = here(2)

    def describe(self) -> str:
        """The pass in words."""
        return f"by pass {self.number}, {self.kind}() at {place(self.spot)}"

    def run(
        self,
        grads: Sequence[Any],
        add: Callable[[Any, Any], Any],
        fit: Callable[[Any, Edge, Node], Any],
        hook: Callable[[Node, int, Any], Any],
    ) -> list[Any]:
        """Walks from the roots; returns what reached `inputs` of a `grad()`.

        `add` joins two gradients, `fit` brings one to the form its node expects, `hook` calls the user's hooks.
        """
        inputs = self.inputs or ()
        waiting = self._edges_to_come()
        path = None if self.inputs is None else self._leading_to([node for node, _ in inputs])
        captured = {node for node, _ in inputs} if self.kind == "grad" else set()
        out: list[Any] = [None] * len(inputs)
        buffers: dict[Node, list[Any]] = {}
        ready: list[tuple[int, int, Node]] = []
        order = itertools.count()

        def deliver(edge: Edge, gradient: Any) -> None:
            node, nr = edge
            waiting[node] -= 1
            if path is not None and node not in path:
                return
            buffer = buffers.get(node)
            if buffer is None:
                buffer = buffers[node] = [None] * len(node.meta)
            if gradient is not None:
                buffer[nr] = gradient if buffer[nr] is None else add(buffer[nr], gradient)
            if waiting[node] == 0:
                heapq.heappush(ready, (-node.number, next(order), node))

        for root, gradient in zip(self.roots, grads, strict=True):
            deliver(root, gradient)
        while ready:
            node = heapq.heappop(ready)[2]
            incoming = buffers.pop(node)
            if node.hooks is not None or node.retained is not None:
                incoming = [None if g is None else hook(node, nr, g) for nr, g in enumerate(incoming)]
            edges = node.edges
            needed = [e is not None and (path is None or e[0] in path) for e in edges]
            if node in captured:
                for position, (one, nr) in enumerate(inputs):
                    if one is node:
                        out[position] = incoming[nr]
                if not any(needed):
                    continue
            outgoing = node.apply(incoming, needed, self)
            self.walked.append(node)
            if not self.retain:
                node.release(self)
            for i, edge in enumerate(edges):
                if edge is not None:
                    gradient = outgoing[i] if needed[i] else None
                    deliver(edge, None if gradient is None else fit(gradient, edge, node))
        return out

    def _edges_to_come(self) -> Counter[Node]:
        """How many edges lead to each node that can be reached."""
        counts = Counter(node for node, _ in self.roots)
        todo = list(counts)
        while todo:
            for edge in todo.pop().edges:
                if edge is not None:
                    node = edge[0]
                    if node not in counts:
                        todo.append(node)
                    counts[node] += 1
        return counts

    def _leading_to(self, targets: list[Node]) -> set[Node]:
        """The nodes on a path from the roots to a target, targets included."""
        path, seen = set(targets), set()
        todo = [(node, False) for node, _ in self.roots]
        while todo:
            node, after = todo.pop()
            if after:
                if any(e is not None and e[0] in path for e in node.edges):
                    path.add(node)
            elif node not in seen:
                seen.add(node)
                todo.append((node, True))
                todo.extend((e[0], False) for e in node.edges if e is not None)
        return path
