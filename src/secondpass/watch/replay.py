# SPDX-License-Identifier: BSD-3-Clause
"""The engine's order, and which node of a failed pass could not be walked."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

from .graph import is_leaf

__all__ = ["changed", "order"]


def order(graph: dict[Any, tuple[Any, ...]], wanted: set[Any], roots: list[Any]) -> Iterator[Any]:
    """The nodes of a pass in the order in which the engine takes them.

    A node is ready when all the nodes that feed it have run; of the ready ones the youngest is taken, leaves first.
    """
    waiting: dict[Any, int] = {}
    for node in wanted:
        for parent in graph.get(node, ()):
            waiting[parent] = waiting.get(parent, 0) + 1
    heap = [(-root._sequence_nr(), k, root) for k, root in enumerate(dict.fromkeys(roots)) if not waiting.get(root)]
    heapq.heapify(heap)
    tie = len(heap)
    while heap:
        _, _, node = heapq.heappop(heap)
        yield node
        for parent in graph.get(node, ()):
            waiting[parent] -= 1
            if not waiting[parent] and parent in wanted:
                tie += 1
                heapq.heappush(heap, (-parent._sequence_nr(), tie, parent))


def changed(node: Any) -> str | None:
    """Which buffer of a node was changed in place since it was saved, if one was."""
    if is_leaf(node):
        return None
    for name in dir(type(node)):
        if not name.startswith("_raw_saved_"):
            continue
        try:
            raw = getattr(node, name)
        except (RuntimeError, AttributeError):
            continue
        if any(one.unpack_hook is not None for one in (raw if isinstance(raw, (list, tuple)) else (raw,))):
            continue  # reading it would run user code
        try:
            # The named attribute, not `unpack`: a node's own output can only be unpacked together with the node.
            getattr(node, name.replace("_raw", "", 1))
        except RuntimeError as error:
            if "inplace operation" in str(error):
                return name.removeprefix("_raw_saved_")
        except AttributeError:
            continue
    return None
