# SPDX-License-Identifier: BSD-3-Clause
"""Buffers that one cheap operation makes from other buffers.

The result of a layer norm or of an activation is saved by the operation after it, while the node that made it has
saved what it was made from. Of the two only the latter need to be held. In a transformer block that is a third of all
bytes, for a few hundredths of its time.

NOTE [ Derived buffers ]
1. How a buffer came about is read from the graph of this very forward: from the node that made it, and from the
   buffers in that node's slots. Nothing is taken over from earlier calls.
2. Only a result that nobody has written to since counts, and only as long as its sources are as they were. A buffer
   may be any view of the result: the same operation on the same memory gives the same layout.
3. A layer norm's node does not remember its epsilon. It is that of the module whose weight the node has saved.
4. Before a unit's derived buffers are dropped for the first time, each is made and compared with the one held.
5. A linear layer makes its result from its input too, but takes long. Its result is dropped only where the plan says
   so: it is cheaper than to run the whole unit again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from ._errors import KeepError, changed
from ._graph import Node, elsewhere, storage_of

__all__ = ["Product", "Recipe", "recipe"]

_SLOTS = {
    "GeluBackward0": ("self",),
    "SiluBackward0": ("self",),
    "MishBackward0": ("self",),
    "HardswishBackward0": ("self",),
    "MulBackward0": ("self", "other"),
    "NativeLayerNormBackward0": ("input", "weight", "bias"),
    "AddmmBackward0": ("mat1", "mat2"),
    "MmBackward0": ("self", "mat2"),
}
_PLAIN = {
    "SiluBackward0": functional.silu,
    "MishBackward0": functional.mish,
    "HardswishBackward0": functional.hardswish,
    "MulBackward0": torch.mul,
    "MmBackward0": torch.mm,
}
_PRODUCTS = {"AddmmBackward0", "MmBackward0"}


class Recipe:
    """How to make one storage again."""

    __slots__ = ("_make", "nbytes", "sources", "spoiled")
    ready = True
    """May it be made?"""
    rest = 0
    """Bytes that are held in its place."""

    def __init__(self, make: Callable[..., torch.Tensor], sources: tuple[int, ...], nbytes: int) -> None:
        self._make, self.sources, self.nbytes = make, sources, nbytes
        self.spoiled = False
        """A source or the result was written to in the meantime."""

    def make(self, sources: list[torch.Tensor]) -> torch.Tensor:
        with torch.no_grad(), _as_given():
            return self._make(*sources)

    def clear(self) -> None:
        """The run is not held any more."""


class Product(Recipe):
    """How a linear layer makes its result."""

    __slots__ = ("ready",)

    def __init__(self, make: Callable[..., torch.Tensor], sources: tuple[int, ...], nbytes: int) -> None:
        super().__init__(make, sources, nbytes)
        self.ready = False

    def clear(self) -> None:
        self.ready = False


def _as_given() -> Any:
    """What is made from saved buffers has their precision, also where a pass runs under autocast."""
    return _Plain() if torch._C._is_any_autocast_enabled() else contextlib.nullcontext()


class _Plain(contextlib.ExitStack):
    def __init__(self) -> None:
        super().__init__()
        for kind in ("cpu", "cuda"):
            self.enter_context(torch.autocast(kind, enabled=False))


def recipe(
    tensor: torch.Tensor, nbytes: int, number: Callable[[Any], int | None], norms: Iterable[nn.LayerNorm]
) -> Recipe | None:
    """How a buffer came about, if it was cheap: see NOTE [ Derived buffers ].

    `number` tells which buffer of the run a slot holds; `norms` are the unit's layer norms.
    """
    made = tensor._base if tensor._is_view() else tensor
    if made is None or made._version or made.output_nr or type(made) is not torch.Tensor or made.grad_fn is None:
        return None
    node = made.grad_fn
    name = node.name()
    if name not in _SLOTS:
        return None
    sources = [number(getattr(node, f"_raw_saved_{slot}", None)) for slot in _SLOTS[name]]
    if any(source is None for source in sources):
        return None
    make = _maker(name, node, norms)
    kind = Product if name in _PRODUCTS else Recipe
    return None if make is None else kind(make, tuple(sources), nbytes)  # type: ignore[arg-type]


def _maker(name: str, node: Node, norms: Iterable[nn.LayerNorm]) -> Callable[..., torch.Tensor] | None:
    if name == "GeluBackward0":
        kind = node._saved_approximate
        return lambda value: functional.gelu(value, approximate=kind)
    if name == "NativeLayerNormBackward0":
        shape, key = tuple(node._saved_normalized_shape), storage_of(node._saved_weight)[0]
        found = {norm.eps for norm in norms if isinstance(norm, nn.LayerNorm) and key and _memory(norm.weight) == key}
        if len(found) != 1:
            return None
        (epsilon,) = found
        return lambda value, weight, bias: functional.layer_norm(value, shape, weight, bias, epsilon)
    if name == "AddmmBackward0":
        return _linear(node)
    return _PLAIN[name]


def _linear(node: Node) -> Callable[..., torch.Tensor] | None:
    """The node has saved all but the bias, which is a parameter, or under autocast a cast of one."""
    leaf = node.next_functions[0][0]
    if leaf is not None and leaf.name() == "ToCopyBackward0":
        leaf = leaf.next_functions[0][0]
    bias = getattr(leaf, "variable", None)
    if bias is None or node._saved_alpha != 1 or node._saved_beta != 1:
        return None
    version = bias._version

    def make(value: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        if elsewhere(bias):
            raise KeepError("a bias is not here.")
        if bias._version != version:
            raise changed("a bias", version, bias._version)
        return torch.addmm(bias.to(value), value, weight)

    return make


def _memory(weight: torch.Tensor | None) -> int:
    return 0 if weight is None else storage_of(weight)[0]
