# SPDX-License-Identifier: BSD-3-Clause
"""What the shared part of a graph is made of, as far as a walk for many losses can make use of it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import torch

from ..saved.graph import Node

__all__ = ["Layer", "Survey", "hooked", "survey"]

_PRODUCTS = {"AddmmBackward0": ("_saved_mat1", (1, 2, 0)), "MmBackward0": ("_saved_self", (0, 1, None))}
"""Of each node: where it saves the layer's input, and which of its edges lead to input, weight and bias."""

_FACTORS = {"GeluBackward0", "SiluBackward0", "MishBackward0", "EluBackward0", "SoftplusBackward0"}
"""Nodes that multiply a gradient by a factor of their own, element by element, which takes them long to compute."""

_LEAF: Any = torch._C._functions.AccumulateGrad  # type: ignore[attr-defined]


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
        return getattr(self.node, self.slot).detach()  # type: ignore[no-any-return]


@dataclass
class Survey:
    """Holds nodes: for the time of one call only."""

    layers: list[Layer] = field(default_factory=list)
    factors: list[Node] = field(default_factory=list)
    nodes: Hashable = None
    """What all of it is made of."""


def survey(starts: list[Node], wanted: list[torch.Tensor]) -> Survey:
    """Looks at everything behind the given nodes.

    A layer whose weight has hooks, a second use, or another precision than the product is not counted, nor one whose
    input somebody packed away: these are left to PyTorch. Nor is one that the engine would not come to, if it were not
    for its weight.
    """
    trunk = _Trunk(starts, wanted)
    layers = []
    for node in sorted(trunk.products, key=_age):
        # Will the engine come by, for the inputs that are left to it?
        layer = trunk.layer(node)
        if layer is not None and trunk.leads(node) and _plain(layer, wanted):
            layers.append(layer)
    return Survey(layers, trunk.factors, (len(trunk.below), frozenset(map(type, trunk.below))))


class _Trunk:
    """The nodes, by how they hang together. Written to be fast: a graph has many, and each call looks at all."""

    def __init__(self, starts: list[Node], wanted: list[torch.Tensor]) -> None:
        self._places = {id(value): place for place, value in enumerate(wanted) if value.grad_fn is None}
        self._leads: dict[Node | None, bool] = {v.grad_fn: True for v in wanted if v.grad_fn is not None}
        """Of some nodes: is an input among what is behind them?"""
        self._leads[None] = False
        self.below: dict[Node, tuple[tuple[Node | None, int], ...]] = {}
        self._again: set[Node] = set()
        """Nodes that several others lead to."""
        self.products: list[Node] = []
        self.factors: list[Node] = []
        sorts = dict.fromkeys(_PRODUCTS, self.products)
        sorts |= dict.fromkeys(_FACTORS, self.factors)
        sort_of: dict[type, list[Node] | None] = {}
        seen = set(starts)
        todo = list(seen)
        while todo:
            node = todo.pop()
            kind = type(node)
            try:
                sort = sort_of[kind]
            except KeyError:
                sort = sort_of[kind] = sorts.get(kind.__name__)
            if sort is not None:
                sort.append(node)
            self.below[node] = edges = node.next_functions
            for child, _ in edges:
                if child in seen:
                    self._again.add(child)
                elif child is not None:
                    seen.add(child)
                    if type(child) is not _LEAF:
                        todo.append(child)

    def leads(self, node: Node) -> bool:
        """Is an input behind a layer's input? Older layers are asked for first, so that the answer is near."""
        start = self.below[node][_PRODUCTS[type(node).__name__][1][0]][0]
        above: dict[Node | None, Node | None] = {start: None}
        todo = [start]
        while todo:
            here = todo.pop()
            known = self._leads.get(here)
            if known is None and here is not None and type(here) is _LEAF:
                known = id(here.variable) in self._places
            if known:
                while here is not None:
                    self._leads[here] = True
                    here = above[here]
                self._leads[node] = True
                return True
            if known is None:
                for child, _ in self.below[here]:
                    if child not in above:
                        above[child] = here
                        todo.append(child)
        self._leads.update(dict.fromkeys(above, False))
        return False

    def layer(self, node: Node) -> Layer | None:
        """A layer whose weight and bias are inputs that nothing else uses."""
        slot, edges = _PRODUCTS[type(node).__name__]
        _, turned, bias = (None if edge is None else self.below[node][edge][0] for edge in edges)
        if type(turned).__name__ != "TBackward0" or turned in self._again:
            return None
        weight = self._input(self.below[turned][0][0])
        beside = None if bias is None else self._input(bias)
        if weight is None or (edges[2] is not None and beside is None):
            return None
        return Layer(node, slot, weight, beside)

    def _input(self, leaf: Node | None) -> int | None:
        if leaf is None or type(leaf) is not _LEAF or leaf in self._again:
            return None
        return self._places.get(id(leaf.variable))


def _age(node: Node) -> int:
    return node._sequence_nr()  # type: ignore[no-any-return]


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
