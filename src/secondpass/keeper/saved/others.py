# SPDX-License-Identifier: BSD-3-Clause
"""Saved-tensor hooks of others (`save_on_cpu`, compression) inside of a kept forward, or around it.

What such a pack hook returns often holds the tensor that it was given: `save_on_cpu` does on a CPU. Where a node saves its
own result, that tensor leads back to the node, and only a pass without `retain_graph` would ever part the two. Passes over
a kept call let nothing go, so what is packed holds the tensor without its history. PyTorch gives what is unpacked the
history that it had, so nobody can tell.

And what they save holds the call: in a block of code it may be all that leads there.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..stand_in import StandIn, standing_in

__all__ = ["apart_from_nodes"]

_home: Any = torch._C._autograd
_NAME = "_push_saved_tensors_default_hooks"
_top: Callable[[bool], Any] = getattr(_home, "_top_saved_tensors_default_hooks", lambda _: None)


class _Here(threading.local):
    """The calls whose forwards run in this thread."""

    def __init__(self) -> None:
        self.calls: list[object] = []


_here = _Here()


class _Push(StandIn):
    """Stands where hooks begin to work."""

    def __call__(self, pack: Any, unpack: Any) -> None:
        if _here.calls:
            pack, unpack = _Pack(pack), _Unpack(unpack, _here.calls[-1])
        self.below(pack, unpack)


class _Pack:
    def __init__(self, below: Any) -> None:
        self.below = below

    def __call__(self, tensor: torch.Tensor) -> Any:
        packed = self.below(tensor)
        with torch._C.DisableTorchFunction():
            return packed if tensor.grad_fn is None else _without_history(packed, tensor)


class _Unpack:
    def __init__(self, below: Any, call: object) -> None:
        self.below, self.call = below, call

    def __call__(self, packed: Any) -> Any:
        return self.below(packed)


def _without_history(packed: Any, tensor: torch.Tensor) -> Any:
    if packed is tensor:
        return tensor.detach()
    if type(packed) in (tuple, list):
        return type(packed)([_without_history(item, tensor) for item in packed])
    if type(packed) is dict:
        return {name: _without_history(item, tensor) for name, item in packed.items()}
    return packed


@contextlib.contextmanager
def apart_from_nodes(call: object) -> Iterator[None]:
    """Within, what others pack leads to no node, and holds a call."""
    with standing_in(_Push, _home, _NAME) as push:
        _here.calls.append(call)
        around = _top(False)  # they were at work before
        try:
            if around is not None:
                push(*around)
            yield
        finally:
            if around is not None:
                _home._pop_saved_tensors_default_hooks()
            _here.calls.pop()
