# SPDX-License-Identifier: BSD-3-Clause
"""Arguments that are neither tensors nor plain values.

Such an object may come to hold the outputs of the call (a cache does), and with them the graph. Held strongly from
within the graph, neither would ever die. So they are held by weak reference where Python allows it.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import nn

from ._errors import KeepError
from ._tree import map_leaves

__all__ = ["unwrap", "wrap"]

_PLAIN = (torch.Tensor, nn.Module, str, bytes, int, float, complex, bool, type(None), type, torch.dtype, torch.device)


class _Weak:
    __slots__ = ("kind", "reference")

    def __init__(self, value: Any) -> None:
        self.reference, self.kind = weakref.ref(value), type(value).__name__


def wrap(tree: Any) -> Any:
    return map_leaves(_wrap, tree)


def unwrap(tree: Any) -> Any:
    return map_leaves(_unwrap, tree)


def _wrap(leaf: Any) -> Any:
    if isinstance(leaf, _PLAIN) or callable(leaf):
        return leaf
    try:
        return _Weak(leaf)
    except TypeError:
        return leaf


def _unwrap(leaf: Any) -> Any:
    if not isinstance(leaf, _Weak):
        return leaf
    value = leaf.reference()
    if value is None:
        raise KeepError(f"the kept call cannot be run again: its argument of type {leaf.kind} is gone.")
    return value
