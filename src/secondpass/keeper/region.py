# SPDX-License-Identifier: BSD-3-Clause
"""The part of PyTorch's graph that one kept call built.

NOTE [ A region of the graph ]
1. It is told by PyTorch's numbers of nodes: those between the marks taken around the call, in the thread that ran it.
   Numbers are per thread, so for a pass of another thread a number alone proves nothing: there a node must be known as
   one behind an output of the call.
2. The nodes behind the outputs hold the region (in their metadata), and so do the tokens of the tape. Where there is no
   tape, the nodes do with which its histories begin: whatever is left of the region, what a hook has collected or a
   module has stored, leads to one of them. The region knows outputs and roots by weak reference only. So it dies with
   the graph.
3. Outputs are found in the result, in containers and in the attributes of objects. A call without any in its result
   (it returned a generator, or nothing) still has its numbers.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch

from .saved.graph import Node, node_of, walk, walk_between

__all__ = ["Region", "mark"]

_KEY = "secondpass.keep"


def mark() -> int:
    """How many nodes this thread has built so far."""
    return torch._C._autograd._get_sequence_nr()


class Region:
    """See NOTE [ A region of the graph ]."""

    def __init__(self, inputs: Iterable[torch.Tensor]) -> None:
        self.below = {(node._sequence_nr(), node.name()) for node in map(node_of, inputs) if node is not None}
        """The nodes behind the arguments: a kept call inside of another may have built them in between."""
        self.anchors: list[weakref.ref[torch.Tensor]] = []
        self.open = True
        """Its forward still runs."""
        self.thread = threading.get_ident()
        self.start = mark()
        self._end: int | None = None

    @property
    def end(self) -> int:
        return mark() if self._end is None else self._end

    def close_region(self, outputs: Iterable[torch.Tensor]) -> bool:
        """The forward is over. False where none of the outputs needs a gradient."""
        self._end, self.open = mark(), False
        found = False
        for value in outputs:
            if self.unseen(value):
                self.anchors.append(weakref.ref(value))
                found = True
        return found

    def unseen(self, tensor: torch.Tensor) -> bool:
        """Lets the node behind a tensor hold the region, if it belongs here: nothing that it saved may do so."""
        node: Any = tensor.grad_fn
        if node is None or not self.inside(node):
            return False
        self._held_by(node)
        return True

    def _held_by(self, node: Node) -> None:
        holders = node.metadata.setdefault(_KEY, [])
        if self not in holders:
            holders.append(self)

    def hold_from_below(self) -> None:
        """Lets the nodes hold the region with which its histories begin: see NOTE [ A region of the graph ] 2."""
        alive = [tensor for tensor in (anchor() for anchor in self.anchors) if tensor is not None]
        todo = [node for node in map(node_of, alive) if node is not None]
        seen = set(todo)
        inside = self._membership()
        while todo:
            node = todo.pop()
            first = True
            for child, _ in node.next_functions:
                if child is not None:
                    if child in seen:
                        first = False
                    elif inside(child):
                        first = False
                        seen.add(child)
                        todo.append(child)
            if first:
                self._held_by(node)

    @property
    def built(self) -> int:
        """How many nodes."""
        return self.end - self.start

    def inside(self, node: Node) -> bool:
        number = node._sequence_nr()
        end = self._end if self._end is not None else mark()
        return self.start <= number < end and (not self.below or (number, node.name()) not in self.below)

    def _membership(self) -> Callable[[Node], bool]:
        """The same as a function, for a walk that asks for every edge."""
        start, end = self.start, self.end
        if self.below:
            return self.inside
        return lambda node: start <= node._sequence_nr() < end

    def owns(self, node: Node, thread: int) -> bool:
        """Is this one of the nodes at which a pass of a thread enters the call?"""
        if not self.inside(node):
            return False
        return thread == self.thread or any(region is self for region in node.metadata.get(_KEY, ()))

    def nodes(self) -> list[Node]:
        """The nodes of this call that can still be found."""
        alive = [tensor for tensor in (anchor() for anchor in self.anchors) if tensor is not None]
        thread = threading.get_ident()
        border: dict[Node, None] = {}

        def outside(node: Node) -> bool:
            if self.owns(node, thread):
                border[node] = None
                return False
            return True

        walk(map(node_of, alive), outside)  # between the roots and this region lie the user's own nodes
        if self.below:
            return walk(border, self.inside)
        return walk_between(border, self.start, self.end)

    def leaves(self) -> list[torch.Tensor]:
        """The leaves that passes over this call give gradients to, as far as they can be found."""
        found: dict[Node, None] = {}
        for node in self.nodes():
            found.update((child, None) for child, _ in node.next_functions if child is not None)
        return [leaf for node in found if isinstance(leaf := getattr(node, "variable", None), torch.Tensor)]

    def anchor(self, root: Any) -> None:
        """Remembers a tensor from which this part of the graph can be reached."""
        if isinstance(root, torch.Tensor) and all(known() is not root for known in self.anchors):
            self.anchors = [known for known in self.anchors if known() is not None]
            self.anchors.append(weakref.ref(root))
