# SPDX-License-Identifier: BSD-3-Clause
"""The one place that touches PyTorch's internals: nodes, saved tensors, leaves, the engine. torch only."""

from .engine import order, walked
from .leaves import Leaves
from .nodes import LEAF, edges, is_leaf, node_of, touchable, walk, walk_young
from .saved import changed, freed, saved_bytes, saved_tensors, storage

__all__ = [
    "LEAF",
    "Leaves",
    "changed",
    "edges",
    "freed",
    "is_leaf",
    "node_of",
    "order",
    "saved_bytes",
    "saved_tensors",
    "storage",
    "touchable",
    "walk",
    "walk_young",
    "walked",
]
