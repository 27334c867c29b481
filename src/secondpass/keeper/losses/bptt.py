# SPDX-License-Identifier: BSD-3-Clause
"""Back-propagation through time in windows: states cut at the right place, and nowhere else."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from ..engine import add_guard, remove_guard
from ..errors import HistoryError
from ..saved.graph import node_of, walk
from ..tree import leaves, map_leaves, tensors

__all__ = ["Window", "bptt", "detach"]


def detach(state: Any) -> Any:
    """Returns the same nested state without its history: containers, dataclasses, and objects such as caches of keys.

    Values and memory are shared with the original; whatever has no history is not copied.

    Example::

        >>> import secondpass, torch
        >>> hidden = torch.ones(2, requires_grad=True) * 2
        >>> state = secondpass.detach({"h": (hidden, None), "step": 3})
        >>> state["h"][0].requires_grad, state["step"]
        (False, 3)
    """
    return map_leaves(_detached, state, objects=True)


def _detached(leaf: Any) -> Any:
    return leaf.detach() if isinstance(leaf, torch.Tensor) and leaf.requires_grad else leaf


@dataclass
class Window:
    """One window: its inputs and the state it starts from. Put the state it ends with into `state`."""

    index: int
    start: int
    inputs: Any
    state: Any
    _border: int = field(repr=False, default=0)


def bptt(
    sequence: Any, state: Any = None, *, window: int, dim: int = 0, module: nn.Module | None = None
) -> Iterator[Window]:
    """Walks a sequence in windows for truncated back-propagation through time.

    Between two windows the state that the loop body left in `window.state` is detached, and so are tensors that
    `module` and its parts hold as attributes. A pass that would cross into an earlier window raises `HistoryError`.

    :param sequence: A tensor, or a tuple, dict... of tensors of the same length along `dim`; or a list or any iterable
        of steps, which comes in lists.
    :param state: The first state, of any nested shape.
    :param window: Steps in a window; the last window may be shorter.

    Example::

        >>> import secondpass, torch
        >>> cell, x = torch.nn.RNN(2, 3), torch.ones(5, 1, 2)
        >>> for part in secondpass.bptt(x, torch.zeros(1, 1, 3), window=2):
        ...     out, part.state = cell(part.inputs, part.state)
        ...     out.sum().backward()
        ...     print(part.index, part.start, tuple(out.shape))
        0 0 (2, 1, 3)
        1 2 (2, 1, 3)
        2 4 (1, 1, 3)
    """
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise ValueError(f"`window` should be a number of steps, at least 1. (got {window!r})")
    return _windows(_cut(sequence, window, dim), state, window, module)


def _windows(parts: Iterator[Any], state: Any, size: int, module: nn.Module | None) -> Iterator[Window]:
    guard = _Guard()
    add_guard(guard)
    try:
        for index, inputs in enumerate(parts):
            state = detach(state)
            if module is not None:
                _detach_attributes(module)
            guard.enter(index)
            part = Window(index, index * size, inputs, state)
            yield part
            state = part.state
    finally:
        remove_guard(guard)


def _cut(sequence: Any, window: int, dim: int) -> Iterator[Any]:
    if not isinstance(sequence, (torch.Tensor, tuple, dict)):
        steps = iter(sequence)
        return iter(lambda: list(itertools.islice(steps, window)), [])
    lengths = {value.shape[dim] for value in tensors(sequence)}
    if len(lengths) != 1 or any(not isinstance(leaf, torch.Tensor) for leaf in leaves(sequence)):
        found = sorted(lengths)
        raise ValueError(f"`sequence` should hold tensors of one length along dim {dim}. (got lengths {found})")
    (length,) = lengths

    def part(start: int) -> Any:
        return map_leaves(lambda value: value.narrow(dim, start, min(window, length - start)), sequence)

    return map(part, range(0, length, window))


def _detach_attributes(module: nn.Module) -> None:
    for part in module.modules():
        attributes = vars(part)
        for name, value in list(attributes.items()):
            if not name.startswith(("_parameters", "_modules", "_buffers")):
                cut = detach(value)
                if cut is not value:
                    attributes[name] = cut
        for name, value in part._buffers.items():
            part._buffers[name] = detach(value)


class _Guard:
    """Looks at every pass of the thread: does it reach a node that an earlier window built?"""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._first = self._border = torch._C._autograd._get_sequence_nr()
        self._index = 0

    def enter(self, index: int) -> None:
        self._index, self._border = index, torch._C._autograd._get_sequence_nr()

    def __call__(self, roots: Any) -> None:
        if threading.get_ident() != self._thread or self._border == self._first:
            return
        for node in walk(map(node_of, roots)):
            if self._first <= node._sequence_nr() < self._border:
                raise HistoryError(
                    f"this pass would cross from window {self._index} into an earlier one: it reaches {node.name()}, "
                    "which an earlier window built. Put the state that each window ends with into `window.state`, "
                    "give `module=` where a module stores its state itself, and sum losses within one window only."
                )
