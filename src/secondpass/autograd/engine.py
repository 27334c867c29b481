# SPDX-License-Identifier: BSD-3-Clause
"""The walk. Needs no NumPy: gradients are whatever the nodes make of them.

NOTE [ The order of a pass ]
1. A node is ready when every edge of this pass that leads to it has delivered (or been found to carry nothing).
2. Of the ready nodes the one with the highest number goes first; leaves have the highest of all.
3. With `inputs`, only nodes on a path to one of them are walked: the others stay as they are, unspent.
4. `grad()` stops at its inputs without walking them; `backward(inputs=...)` walks them too.
5. Each node is spent right after it was walked, before its gradients are handed on.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

from .graph import Edge, Node
from .place import Spot, here, place
from .state import state

__all__ = ["Walk"]


class Walk:
    """One pass: what it starts from, its flags, and what came of it."""

    def __init__(
        self,
        kind: str,
        roots: Sequence[Edge],
        retain: bool = False,
        create: bool = False,
        inputs: Sequence[Edge] | None = None,
    ) -> None:
        state.walks += 1
        self.number = state.walks
        self.kind, self.roots, self.retain, self.create, self.inputs = kind, list(roots), retain, create, inputs
        self.walked: list[Node] = []
        self.spot: Spot | None = here(2)
        self.exec: dict[Node, bool] | None = None

    def describe(self) -> str:
        """The pass in words."""
        return f"by pass {self.number}, {self.kind}() at {place(self.spot)}"

    def run(
        self,
        grads: Sequence[Any],
        add: Callable[[Any, Any], Any] = lambda a, b: a,
        fit: Callable[[Any, Any, Node], Any] | None = None,
        hook: Callable[[Node, int, Any], Any] | None = None,
    ) -> list[Any]:
        """Walks from the roots; returns what reached `inputs` of a `grad()`.

        `add` joins two gradients, `fit` brings one to the form its node expects, `hook` calls the user's hooks.
        """
        dependencies = self._dependencies()
        captures: dict[Node, list[tuple[int, int]]] = {}
        out: list[Any] = [None] * len(self.inputs or ())
        if self.inputs is not None:
            self.exec = self._needed([node for node, _ in self.inputs])
            if self.kind == "grad":
                for position, (node, nr) in enumerate(self.inputs):
                    captures.setdefault(node, []).append((nr, position))
        buffers: dict[Node, list[Any]] = {}
        ready: list[tuple[int, int, Node]] = []
        pushed = 0

        def deliver(edge: Edge, gradient: Any) -> None:
            nonlocal pushed
            node, nr = edge
            dependencies[node] -= 1
            if self.exec is not None and not self.exec.get(node):
                return
            buffer = buffers.get(node)
            if buffer is None:
                buffer = buffers[node] = [None] * len(node.meta)
            if gradient is not None:
                buffer[nr] = gradient if buffer[nr] is None else add(buffer[nr], gradient)
            if dependencies[node] == 0:
                pushed += 1
                heapq.heappush(ready, (-node.number, pushed, node))

        for root, gradient in zip(self.roots, grads, strict=True):
            deliver(root, gradient)
        exec_, retain, walked = self.exec, self.retain, self.walked
        while ready:
            node = heapq.heappop(ready)[2]
            incoming = buffers.pop(node)
            if node.hooks is not None or node.retained is not None:
                for nr, gradient in enumerate(incoming):
                    if gradient is not None and hook is not None:
                        incoming[nr] = hook(node, nr, gradient)
            if node in captures:
                for nr, position in captures[node]:
                    out[position] = incoming[nr]
                if not self._leads_on(node, exec_ or {}):
                    continue
            edges = node.edges
            if exec_ is None:
                needed = [e is not None for e in edges]
            else:
                needed = [e is not None and bool(exec_.get(e[0])) for e in edges]
            outgoing = node.apply(incoming, needed, self)
            walked.append(node)
            if not retain:
                node.release(self)
            for i, edge in enumerate(edges):
                if edge is not None:
                    gradient = outgoing[i] if needed[i] else None
                    if gradient is not None and fit is not None:
                        gradient = fit(gradient, edge, node)
                    deliver(edge, gradient)
        return out

    def _dependencies(self) -> dict[Node, int]:
        counts: dict[Node, int] = {}
        todo = []
        for node, _ in self.roots:
            if node not in counts:
                counts[node] = 0
                todo.append(node)
            counts[node] += 1
        while todo:
            for edge in todo.pop().edges:
                if edge is not None:
                    node = edge[0]
                    if node in counts:
                        counts[node] += 1
                    else:
                        counts[node] = 1
                        todo.append(node)
        return counts

    def _needed(self, targets: list[Node]) -> dict[Node, bool]:
        """Which nodes lie on a path to a target, targets included."""
        needed = dict.fromkeys(targets, True)
        seen: set[Node] = set()
        todo = [(node, False) for node, _ in self.roots]
        while todo:
            node, after = todo.pop()
            if after:
                needed[node] = needed.get(node, False) or self._leads_on(node, needed)
            elif node not in seen:
                seen.add(node)
                todo.append((node, True))
                todo.extend((e[0], False) for e in node.edges if e is not None)
        return needed

    @staticmethod
    def _leads_on(node: Node, needed: dict[Node, bool]) -> bool:
        return any(e is not None and needed.get(e[0], False) for e in node.edges)
