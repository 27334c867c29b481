# SPDX-License-Identifier: BSD-3-Clause
"""The one place that touches PyTorch's internals: nodes, saved tensors, leaves, the engine. torch only."""

from .engine import order, walked
from .leaves import Leaves
from .nodes import LEAF, edges, is_leaf, node_of, touchable, walk, walk_young
from .saved import changed, freed, saved_bytes, saved_tensors, storage, written_to
from .slots import Slot, attributes, checkpoint_of, hook_region, region_of, slots

__all__ = [
    "LEAF", "Leaves", "Slot", "attributes", "changed", "checkpoint_of", "edges", "freed", "hook_region", "is_leaf",
    "node_of", "order", "region_of", "saved_bytes", "saved_tensors", "slots", "storage", "touchable", "walk",
    "walk_young", "walked", "written_to",
]  # fmt: skip
