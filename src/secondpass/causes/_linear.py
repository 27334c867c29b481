# SPDX-License-Identifier: BSD-3-Clause
"""Operations that only add up, scale or rearrange: they do not make another loss of a loss."""

from __future__ import annotations

from ..record import Node

__all__ = ["ADDING", "LINEAR", "SUMMING", "is_linear"]

LINEAR = (
    "Add",
    "Sub",
    "RSub",
    "Rsub",
    "Mul",
    "Div",
    "Neg",
    "Sum",
    "Mean",
    "Stack",
    "Cat",
    "View",
    "UnsafeView",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "Expand",
    "Clone",
    "Select",
    "Slice",
    "Permute",
    "Transpose",
    "T",
    "To",
    "ToCopy",
    "Alias",
    "ReshapeAlias",
    "Unbind",
    "Split",
    "Index",
)

SUMMING = tuple(name for name in LINEAR if name not in ("Mul", "Neg", "RSub", "Rsub", "Index"))
"""Linear operations that a sum of losses is made of. A product with something else makes another loss of it."""


ADDING = ("Add", "Sub", "RSub", "Rsub", "Mul", "Div", "Neg")
"""Linear operations that leave a single number a single number."""


def is_linear(node: Node) -> bool:
    """Whether a node only adds up, scales or rearranges."""
    return node.op.partition("Backward")[0] in LINEAR
