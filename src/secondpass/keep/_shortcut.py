# SPDX-License-Identifier: BSD-3-Clause
"""Leaving out the last matrix product when a forward is run again.

A block often ends with `x + dropout(linear(h))`. Nothing that is saved depends on the value of that last product: of
what follows it only the dropout's mask is saved, and that comes from the dice. In a transformer block it is a third of
all multiplications.

NOTE [ Leaving out a product ]
1. Which call is the last one, and what it saves, is learned while a first forward is run again for comparison. It
   saves views of its input and of its weight, or casts of them: these are made without multiplying.
2. Its result is replaced by memory with nothing in it. Everything computed from that is marked. Marked tensors may be
   added, dropped out, reshaped and cast. Any other function that sees one, and any marked buffer, ends the attempt:
   the forward is run in full, and the unit is never shortened again. So no value can depend on what was left out.
3. Code that reads tensors behind PyTorch's back is not seen by 2. Therefore a first shortened forward is tried, with
   NaN for the result, while the buffers are still here: every bit must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from ._graph import storage_of
from ._tree import tensors

__all__ = ["Astray", "Learn", "Shorten", "Site"]

_T = torch.Tensor
_PASSIVE = frozenset(
    [
        torch.add, _T.add, _T.__add__, _T.__radd__, torch.sub, _T.sub, torch.dropout, functional.dropout,
        torch.reshape, torch.transpose, torch.permute, torch.squeeze, torch.unsqueeze,
        _T.view, _T.reshape, _T.transpose, _T.permute, _T.contiguous, _T.unsqueeze, _T.squeeze, _T.flatten,
        _T.to, _T.float, _T.half, _T.bfloat16, _T.size, _T.dim,
    ]
)  # fmt: skip


class Astray(BaseException):
    """A value that was left out would have been used."""


@dataclass(frozen=True)
class _View:
    source: str
    dtype: torch.dtype
    shape: torch.Size
    stride: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class Site:
    """The last product of a forward."""

    number: int
    first_buffer: int
    views: tuple[_View | None, ...]
    input: tuple[Any, ...]
    result: tuple[torch.Size, torch.dtype]


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.shape, tensor.stride(), tensor.dtype


class Learn(TorchFunctionMode):
    """Watches a forward for its last product."""

    def __init__(self) -> None:
        super().__init__()
        self.packed: list[torch.Tensor] = []
        self.count = 0
        self._calls = 0
        self.site: Site | None = None

    def saw(self, tensor: torch.Tensor) -> None:
        self.count += 1
        self.packed.append(tensor.detach())

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is not functional.linear or kwargs or len(args) < 2:
            self.packed.clear()
            return func(*args, **kwargs)
        before, number = self.count, self._calls
        self._calls += 1
        self.packed.clear()
        result = func(*args)
        views = tuple(_relation(tensor, args[0], args[1]) for tensor in self.packed)
        self.site = Site(number, before, views, _layout(args[0]), (result.shape, result.dtype))
        self.packed.clear()
        return result


def _relation(buffer: torch.Tensor, given: torch.Tensor, weight: torch.Tensor) -> _View | None:
    for source, tensor in (("input", given), ("weight", weight)):
        if storage_of(buffer)[0] == storage_of(tensor)[0] != 0:
            offset = buffer.storage_offset() - tensor.storage_offset()
            return _View(source, buffer.dtype, buffer.shape, buffer.stride(), offset)
    # Autocast saves a cast of the weight, or a transposed view of that.
    if buffer.dim() == 2 and weight.dim() == 2 and buffer.dtype != weight.dtype and weight.is_contiguous():
        turned = buffer.t() if buffer.shape == weight.t().shape and buffer.stride() == weight.t().stride() else buffer
        if turned.stride() == weight.stride() and torch.equal(turned, weight.detach().to(buffer.dtype)):
            return _View("weight", buffer.dtype, buffer.shape, buffer.stride(), 0)
    return None


class Shorten(TorchFunctionMode):
    """Runs a forward without its last product."""

    def __init__(
        self, site: Site, pack: Callable[[torch.Tensor], Any], needed: Callable[[int], bool], trial: bool
    ) -> None:
        super().__init__()
        self._site, self._pack, self._needed, self._trial = site, pack, needed, trial
        self._calls = 0
        self._marked: dict[int, torch.Tensor] = {}  # held, so that an address means one tensor
        self._memory: set[int] = set()

    def forget(self) -> None:
        """Ends the forward. Its graph holds the hooks, and through them this: it must not hold the graph."""
        self._marked.clear()

    def depends(self, buffer: torch.Tensor) -> bool:
        return bool(self._memory) and storage_of(buffer)[0] in self._memory

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is functional.linear:
            number, self._calls = self._calls, self._calls + 1
            if number == self._site.number:
                return self._left_out(*args, **kwargs)
        if not self._marked or not any(id(value) in self._marked for value in tensors((args, kwargs))):
            return func(*args, **kwargs)
        if func not in _PASSIVE or "out" in kwargs or kwargs.get("inplace"):
            raise Astray
        result = func(*args, **kwargs)
        for value in tensors(result):
            self._mark(value)
        return result

    def _mark(self, tensor: torch.Tensor) -> None:
        self._marked[id(tensor)] = tensor
        self._memory.add(storage_of(tensor)[0])

    def _left_out(self, given: torch.Tensor, weight: torch.Tensor, *_: Any) -> torch.Tensor:
        if _layout(given) != self._site.input or storage_of(given)[0] in self._memory:
            raise Astray
        for place, view in enumerate(self._site.views):
            if view is None:
                if self._needed(self._site.first_buffer + place):
                    raise Astray
                continue
            source = (given if view.source == "input" else weight).detach()
            if source.dtype != view.dtype:
                source = source.to(view.dtype)
            self._pack(source.as_strided(view.shape, view.stride, source.storage_offset() + view.offset))
        shape, dtype = self._site.result
        result = torch.empty(shape, dtype=dtype, device=given.device)
        if self._trial:
            result.fill_(float("nan"))
        result.requires_grad_()
        self._mark(result)
        return result
