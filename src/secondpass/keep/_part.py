# SPDX-License-Identifier: BSD-3-Clause
"""The part of PyTorch's graph that one call of a kept function built.

NOTE [ A part of the graph ]
1. It is told by PyTorch's numbers of nodes: those between the marks taken around the call, reached from the nodes
   behind its outputs. Numbers are per thread, so a number alone proves nothing for another thread.
2. The nodes behind the outputs hold the part (in their metadata). The part knows outputs and roots by weak reference
   only. So it dies with the graph.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Any

import torch

from ._graph import Node, node_of, walk
from ._late import built_between

__all__ = ["Part", "mark"]

_KEY = "secondpass.keep"


def mark() -> int:
    """How many nodes this thread has built so far."""
    return torch._C._autograd._get_sequence_nr()


class Part:
    """See NOTE [ A part of the graph ]."""

    def __init__(self, inputs: Iterable[torch.Tensor]) -> None:
        self.below = {(node._sequence_nr(), node.name()) for node in map(node_of, inputs) if node is not None}
        """The nodes behind the arguments: a kept call inside of another may have built them in between."""
        self.anchors: list[weakref.ref[torch.Tensor]] = []
        self.gaps: list[tuple[int, int]] = []
        """What was built in between for comparing."""
        self.open = True
        """Its forward still runs."""
        self.thread = threading.get_ident()
        self.start = self.end = mark()

    def close(self, outputs: Iterable[torch.Tensor]) -> bool:
        """The forward is over. False where nothing in it needs a gradient."""
        self.end, self.open = mark(), False
        inside = built_between(self.start, self.end)
        found = False
        for value in outputs:
            node: Any = value.grad_fn
            if node is not None and inside(node):
                node.metadata.setdefault(_KEY, []).append(self)
                self.anchors.append(weakref.ref(value))
                found = True
        return found

    def owns(self, node: Node) -> bool:
        """Is this one of the nodes behind the call's outputs?"""
        return self.inside(node) and any(frame is self for frame in node.metadata.get(_KEY, ()))

    def inside(self, node: Node) -> bool:
        number = node._sequence_nr()
        return self.start <= number < self.end and (not self.below or (number, node.name()) not in self.below)

    def nodes(self) -> list[Node]:
        """The nodes of this call that can still be found."""
        alive = [tensor for tensor in (anchor() for anchor in self.anchors) if tensor is not None]
        border: dict[Node, None] = {}

        def outside(node: Node) -> bool:
            if self.owns(node):
                border[node] = None
                return False
            return True

        walk(map(node_of, alive), outside)  # between the roots and this part lie the user's own nodes
        return walk(border, self.inside)

    def places(self, nodes: list[Node]) -> dict[int, Node]:
        """How many nodes the call had built before each; what was built for comparing does not count."""
        found = {}
        for node in nodes:
            number = node._sequence_nr()
            found[number - self.start - sum(after - before for before, after in self.gaps if before <= number)] = node
        return found

    def anchor(self, root: Any) -> None:
        """Remembers a tensor from which this part of the graph can be reached."""
        if isinstance(root, torch.Tensor) and all(known() is not root for known in self.anchors):
            self.anchors = [known for known in self.anchors if known() is not None]
            self.anchors.append(weakref.ref(root))
