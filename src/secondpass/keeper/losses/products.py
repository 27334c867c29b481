# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a walk that are done apart from it, by hooks on the nodes that would do them.

NOTE [ Apart from the walk ]
1. Half of the work of a walk are the products of a layer's input and its result's gradient. Nothing waits for them.
   So the engine is not asked for these gradients; a hook in front of the layer's node makes them as its gradient comes.
2. Walked for several losses at once, the product of all of them with the one input is one call. PyTorch's own rule
   copies the gradients of all losses first.
3. An activation's derivative is the same for all losses. Its node is given ones, and what it makes of them is the
   derivative, by which the gradients are multiplied.
4. On a GPU the products of a single loss are made on a stream of their own, while the walk goes on: a product leaves the
   memory idle, and most other operations leave the multipliers idle. What the side stream reads is held until the
   walk's stream has been told to wait for it. Holding it also stops the engine from adding to it in place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from ..saved.graph import Node
from .heads import Tangled
from .layers import Layer, Survey

__all__ = ["aside", "together"]

_AHEAD = 2  # products that may be unfinished: each holds a gradient

_EXACT = {torch.float32, torch.float64}
"""In which a derivative is as exact as what it is computed from: in half precisions it would be rounded once more."""

Made = dict[int, torch.Tensor]
"""Gradients by the place of their input."""


class _Hooks:
    """Hooks for the time of one walk."""

    def __init__(self) -> None:
        self.made: Made = {}
        self._handles: list[Any] = []
        self._walks: set[int] = set()

    def before(self, layers: list[Layer], make: Callable[[Layer, torch.Tensor], None]) -> None:
        """Calls `make` with the gradient that comes to a layer."""
        for layer in layers:
            self._handles.append(layer.node.register_prehook(partial(self._come, layer, make)))

    def _come(self, layer: Layer, make: Callable[[Layer, torch.Tensor], None], gradients: Any) -> None:
        self._walks.add(torch._C._current_graph_task_id())
        if gradients[0] is not None:
            make(layer, gradients[0])

    def after(self, layers: list[Layer], work: Callable[..., None]) -> None:
        """Calls `work` when the walk has gone through a layer."""
        self._handles += [layer.node.register_hook(work) for layer in layers]

    def around(self, nodes: list[Node]) -> None:
        """See NOTE [ Apart from the walk ] 3."""
        for node in nodes:
            if node._input_metadata[0].dtype in _EXACT:
                self._handles += _factor(node, self._walks)

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()

    def check(self) -> None:
        if len(self._walks) > 1:
            raise Tangled


@contextmanager
def together(found: Survey, count: int) -> Iterator[Made]:
    """Within, a walk for several losses at once fills in what is made apart: stacked, one for each loss."""
    level = torch._C._vmapmode_increment_nesting()  # the one that the walk is going to have
    torch._C._vmapmode_decrement_nesting()
    hooks = _Hooks()

    def make(layer: Layer, gradient: torch.Tensor) -> None:
        rows, given = torch._remove_batch_dim(gradient, level, count, 0), layer.given
        hooks.made[layer.weight] = _as(given, torch.bmm(rows.transpose(1, 2), given.expand(count, *given.shape)))
        if layer.bias is not None:
            hooks.made[layer.bias] = _as(given, rows.sum(1))

    try:
        hooks.before(found.layers, make)
        hooks.around(found.factors)
        yield hooks.made
    finally:
        hooks.close()
    hooks.check()


def _as(given: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """In the layer's precision: under autocast the product has another."""
    return made if made.dtype == given.dtype else made.to(given.dtype)


def _factor(node: Node, walks: set[int]) -> list[Any]:
    come: dict[int, torch.Tensor] = {}

    def before(gradients: Any) -> Any:
        (gradient,) = gradients
        if gradient is None:
            return None
        walk = torch._C._current_graph_task_id()
        walks.add(walk)
        come[walk] = gradient
        return (torch.ones(gradient.shape, dtype=gradient.dtype, device=gradient.device),)

    def after(results: Any, _: Any) -> Any:
        gradient = come.pop(torch._C._current_graph_task_id(), None)
        return None if gradient is None else (gradient * results[0],)

    handle = node.register_hook(after)
    if len(handle.hooks_dict_ref() or ()) > 1:  # somebody else looks at what it returns
        handle.remove()
        return []
    return [node.register_prehook(before), handle]


@contextmanager
def aside(found: Survey, device: torch.device) -> Iterator[Made]:
    """Within, a walk for one loss fills in what is made on the side: see NOTE [ Apart from the walk ] 4."""
    side = _side_stream(device)
    come: list[tuple[Layer, torch.Tensor, torch.Tensor, torch.cuda.Event]] = []
    unfinished: deque[tuple[torch.cuda.Event, torch.cuda.Stream, Any]] = deque()
    walks: set[torch.cuda.Stream] = set()
    hooks = _Hooks()

    def take(layer: Layer, gradient: torch.Tensor) -> None:
        come.append((layer, gradient, layer.given, torch.cuda.current_stream(device).record_event()))

    def make(*_: Any) -> None:
        # Only now, behind the layer's own product: the walk waits for that one, and leaves room beside what follows.
        here = torch.cuda.current_stream(device)
        while come:
            layer, gradient, given, ready = come.pop()
            side.wait_event(ready)
            with torch.cuda.stream(side):
                hooks.made[layer.weight] = _as(given, gradient.t() @ given)
                if layer.bias is not None:
                    hooks.made[layer.bias] = _as(given, gradient.sum(0))
            unfinished.append((side.record_event(), here, (gradient, given)))
        walks.add(here)
        while len(unfinished) > _AHEAD:
            done, there, _ = unfinished[0]
            for stream in {here, there}:  # of a forward on several streams: the memory is that one's
                stream.wait_event(done)
            unfinished.popleft()

    try:
        hooks.before(found.layers, take)
        hooks.after(found.layers, make)
        yield hooks.made
    finally:
        hooks.close()
        for stream in [*walks, torch.cuda.current_stream(device)]:
            stream.wait_stream(side)
        unfinished.clear()
    hooks.check()


_streams: dict[torch.device, torch.cuda.Stream] = {}


def _side_stream(device: torch.device) -> torch.cuda.Stream:
    """One for each device, so that its memory is reused from call to call."""
    if device not in _streams:
        _streams[device] = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    return _streams[device]
