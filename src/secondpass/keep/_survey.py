# SPDX-License-Identifier: BSD-3-Clause
"""What the shared part of a graph is made of, as far as a walk for many losses can make use of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from ._graph import Node

__all__ = ["Layer", "Survey", "hooked", "survey"]

_PRODUCTS = {"AddmmBackward0": ("_saved_mat1", (1, 2, 0)), "MmBackward0": ("_saved_self", (0, 1, None))}
"""Of each node: where it saves the layer's input, and which of its edges lead to input, weight and bias."""

_FACTORS = {"GeluBackward0", "SiluBackward0", "MishBackward0", "EluBackward0", "SoftplusBackward0"}
"""Nodes that multiply a gradient by a factor of their own, element by element, which takes them long to compute."""


@dataclass(frozen=True)
class Layer:
    """A linear layer, and the places of its weight and bias among the inputs."""

    node: Node
    slot: str
    weight: int
    bias: int | None

    @property
    def given(self) -> torch.Tensor:
        """What the layer was applied to. Raises where it was written to since."""
        return getattr(self.node, self.slot).detach()


@dataclass
class Survey:
    """Holds nodes: for the time of one call only."""

    layers: list[Layer] = field(default_factory=list)
    factors: list[Node] = field(default_factory=list)


def survey(starts: list[Node], wanted: list[torch.Tensor]) -> Survey:
    """Looks at everything behind the given nodes.

    A layer whose weight has hooks, a second use, or another precision than the product is not counted, nor one whose
    input somebody packed away: these are left to PyTorch. Nor is one that the engine would not come to, if it were not
    for its weight.
    """
    found, trunk = Survey(), _Trunk(starts, wanted)
    goals = {value.grad_fn for value in wanted if value.grad_fn is not None}
    # Will the engine come by, for the inputs that are left to it? Where nodes have no order (several threads made them)
    # some are taken for not needed: their layers are left to it, too.
    needed: dict[Node | None, bool] = {node: place is not None for node, place in trunk.leaves.items()}
    for node in sorted(trunk.below, key=_age):
        name, children = type(node).__name__, trunk.below[node]
        if name in _PRODUCTS and needed.get(children[_PRODUCTS[name][1][0]]):
            layer = trunk.layer(node, *_PRODUCTS[name])
            if layer is not None and _plain(layer, wanted):
                found.layers.append(layer)
        elif name in _FACTORS:
            found.factors.append(node)
        needed[node] = node in goals or any(needed.get(child) for child in children)
    return found


class _Trunk:
    """The nodes, by how they hang together."""

    def __init__(self, starts: list[Node], wanted: list[torch.Tensor]) -> None:
        places = {id(value): place for place, value in enumerate(wanted) if value.grad_fn is None}
        self.below: dict[Node, list[Node | None]] = {}
        self.uses: dict[Node | None, int] = {}
        self.leaves: dict[Node | None, int | None] = {}
        """Of each leaf: its place among the inputs."""
        todo = list(starts)
        while todo:
            node = todo.pop()
            if node in self.below:
                continue
            self.below[node] = children = [child for child, _ in node.next_functions]
            for child in children:
                self.uses[child] = self.uses.get(child, 0) + 1
                if child is None or child in self.below or child in self.leaves:
                    continue
                if type(child).__name__ == "AccumulateGrad":
                    self.leaves[child] = places.get(id(child.variable))
                else:
                    todo.append(child)

    def layer(self, node: Node, slot: str, edges: tuple[int, int, int | None]) -> Layer | None:
        """A layer whose weight and bias are inputs that nothing else uses."""
        _, turned, bias = (None if edge is None else self.below[node][edge] for edge in edges)
        if type(turned).__name__ != "TBackward0" or self.uses[turned] > 1:
            return None
        weight = self._input(self.below[turned][0])
        beside = None if bias is None else self._input(bias)
        if weight is None or (edges[2] is not None and beside is None):
            return None
        return Layer(node, slot, weight, beside)

    def _input(self, leaf: Node | None) -> int | None:
        return self.leaves.get(leaf) if self.uses[leaf] == 1 else None


def _age(node: Node) -> int:
    return node._sequence_nr()


def _plain(layer: Layer, wanted: list[torch.Tensor]) -> bool:
    """Nothing about it is special, and it is on the device of the first input."""
    node, weight, bias = layer.node, wanted[layer.weight], None if layer.bias is None else wanted[layer.bias]
    raw = getattr(node, "_raw" + layer.slot)
    if raw is None or getattr(raw, "unpack_hook", None) is not None or hooked(node):
        return False
    if bias is not None and (node._saved_alpha != 1 or node._saved_beta != 1 or bias.dim() != 1):
        return False
    if weight._backward_hooks or (bias is not None and bias._backward_hooks):
        return False
    given = getattr(node, layer.slot)
    kinds = {type(given), type(weight)} <= {torch.Tensor, torch.nn.Parameter}
    usual = given.layout == torch.strided and not given.is_complex()
    return kinds and usual and given.dtype == weight.dtype and given.device == wanted[0].device


def hooked(node: Node) -> bool:
    """Does somebody look at what this node returns?"""
    handle = node.register_hook(lambda *_: None)
    others = len(handle.hooks_dict_ref() or ()) > 1
    handle.remove()
    return others
