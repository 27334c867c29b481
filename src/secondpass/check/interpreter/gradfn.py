# SPDX-License-Identifier: BSD-3-Clause
"""`tensor.grad_fn`: programs that walk the graph themselves."""

from __future__ import annotations

from typing import Any

from ...record import Failure
from .machine import Machine
from .nodes import GraphNode, Refused
from .values import Native, Unknown

__all__ = ["GradFunction", "names", "read"]


class GradFunction:
    """A node as the program sees it. Two of the same node are the same."""

    __slots__ = ("node",)

    def __init__(self, node: GraphNode) -> None:
        self.node = node

    def __hash__(self) -> int:
        return hash(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradFunction) and other.node is self.node


def names(value: GradFunction) -> list[str]:
    """`dir(fn)`"""
    if value.node.leaf is not None:
        return ["name", "next_functions", "variable"]
    return ["name", "next_functions", "metadata", *(f"_saved_{n}" for n in value.node.saves)]


def read(m: Machine, value: GradFunction, name: str) -> Any:
    """`fn.name`; saved tensors of a spent node cannot be read."""
    node = value.node
    if name == "next_functions":
        if node.maybe:
            return Unknown(plain=True)
        return tuple((GradFunction(p), 0) for p in node.parents)
    if name == "variable" and node.leaf is not None:
        return node.leaf.tensor
    if name == "name":
        return Native("name", lambda m, args, kwargs: node.name())
    saved = name.removeprefix("_saved_") in node.saves
    kept = saved or (name in ("saved_tensors", "saved_variables") and node.saves)
    if kept and node.freed and not node.vague:
        m.visit()
        message = "Trying to backward through the graph a second time (or directly access saved tensors after they have"
        m.engine.failures.append(
            Failure(m.engine.clock - 1, "freed-access", message, node.number, m.place(), m.stack())
        )
        raise Refused("freed-access", message)
    return Unknown(plain=name.startswith(("_saved_", "saved_")))
