# SPDX-License-Identifier: BSD-3-Clause
"""Saved-tensor hooks of others (`save_on_cpu`, compression) inside of a kept forward, or around it.

What such a pack hook returns often holds the tensor that it was given: `save_on_cpu` does on a CPU. Where a node saves its
own result, that tensor leads back to the node, and only a pass without `retain_graph` would ever part the two. Passes over
a kept call let nothing go, so what is packed holds the tensor without its history. PyTorch gives what is unpacked the
history that it had, so nobody can tell.

And what they save holds the call: in a block of code it may be all that leads there.

An object of somebody's own may hold the tensor as well, and is left as it is. It goes when no pass can be right any more.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch

from ..stand_in import StandIn, standing_in
from ..unseen import unseen

__all__ = ["Packed", "apart_from_nodes"]

_home: Any = torch._C._autograd
_NAME = "_push_saved_tensors_default_hooks"
_top: Callable[[bool], Any] = getattr(_home, "_top_saved_tensors_default_hooks", lambda _: None)


class Packed:
    """What somebody's hook has packed. Nodes hold it through this, so that it can be freed."""

    __slots__ = ("__weakref__", "error", "packed")

    def __init__(self, packed: Any) -> None:
        self.packed = packed
        self.error: Callable[[], RuntimeError] | None = None

    def free(self, error: Callable[[], RuntimeError]) -> None:
        self.packed, self.error = None, error


class _Call(Protocol):
    packed: list[weakref.ref[Packed]]


class _Here(threading.local):
    """The calls whose forwards run in this thread."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []


_here = _Here()


class _Push(StandIn):
    """Stands where hooks begin to work."""

    def __call__(self, pack: Any, unpack: Any) -> None:
        if _here.calls:
            pack, unpack = _Pack(pack, _here.calls[-1].packed), _Unpack(unpack, _here.calls[-1])
        self.below(pack, unpack)


class _Pack:
    def __init__(self, below: Any, known: list[weakref.ref[Packed]]) -> None:
        self.below, self.known = below, known

    def __call__(self, tensor: torch.Tensor) -> Any:
        packed = self.below(tensor)
        with unseen():
            found = Packed(packed if tensor.grad_fn is None else _without_history(packed, tensor))
        self.known.append(weakref.ref(found))
        return found


class _Unpack:
    def __init__(self, below: Any, call: _Call) -> None:
        self.below, self.call = below, call

    def __call__(self, found: Packed) -> Any:
        if found.error is not None:
            raise found.error()
        return self.below(found.packed)


def _without_history(packed: Any, tensor: torch.Tensor) -> Any:
    if packed is tensor:
        return tensor.detach()
    if type(packed) in (tuple, list):
        return type(packed)([_without_history(item, tensor) for item in packed])
    if isinstance(packed, tuple) and hasattr(packed, "_make"):
        return packed._make([_without_history(item, tensor) for item in packed])
    if type(packed) is dict:
        return {name: _without_history(item, tensor) for name, item in packed.items()}
    return packed


@contextlib.contextmanager
def apart_from_nodes(call: _Call) -> Iterator[None]:
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
            _here.calls.remove(call)
