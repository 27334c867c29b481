# SPDX-License-Identifier: BSD-3-Clause
"""Whether PyTorch would refuse a pass, and what it would say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .nodes import GraphNode
from .values import Tensor

__all__ = ["refusal"]

_NO_GRAD = "element 0 of tensors does not require grad and does not have a grad_fn"
_TWICE = "Trying to backward through the graph a second time"
_INPLACE = "one of the variables needed for gradient computation has been modified by an inplace operation"

Refusal = tuple[dict[str, Any], str, tuple[int, int] | None]


def refusal(roots: Sequence[Tensor], nodes: list[GraphNode], certain: set[GraphNode]) -> Refusal | None:
    """The failure, its message, and (serial number of the changed memory, number of the node that had saved it)."""
    if not nodes and roots and all(r.needs is False for r in roots):
        return {"kind": "no-grad"}, _NO_GRAD, None
    # The engine takes ready nodes by descending number, and every node is younger than its parents.
    for node in sorted(certain, key=lambda n: -n.number):
        if node.leaf or node.opaque or node.vague or not node.saved:
            continue
        if node.spent:
            return {"kind": "backward-twice", "node": node.number}, _TWICE, None
        if node.spent is None:
            return None
        for name, _, store, version in node.keeps:
            if name in node.unsure:
                continue
            if store.doubt > node.number:
                return None
            if store.version != version:
                leaf = store.leaf.node.number if store.leaf else None
                failure = {"kind": "inplace", "node": node.number, "saved": name, "leaf": leaf}
                return failure, _INPLACE, (store.serial, node.number)
    return None
