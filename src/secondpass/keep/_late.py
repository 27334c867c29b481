# SPDX-License-Identifier: BSD-3-Clause
"""Buffers that PyTorch itself holds: what they weigh, letting them go, and making them again.

They are known by their position in a walk over the part of the graph that one call built. The same call run again
builds the same part, so the same walk finds their twins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from ._errors import RepeatError, spent
from ._graph import Node, elsewhere, hook, same_bits, saved, slots, storage_of

__all__ = ["Released", "built_between", "release_spent", "weigh"]


_SAMPLES, _VALUES = 64, 64


def built_between(start: int, end: int) -> Callable[[Node], bool]:
    """Tells the nodes that one call built, by PyTorch's own numbering."""
    return lambda node: start <= node._sequence_nr() < end


def weigh(nodes: Iterable[Node], fixed: set[int]) -> int:
    """Bytes of the buffers that these nodes hold themselves, aliases counted once."""
    found: dict[int, int] = {}
    for node in nodes:
        for name, place, handle in slots(node):
            if not _ours(handle):
                key, size = _storage(node, name, place)
                if key and key not in fixed:
                    found[key] = size
    return sum(found.values())


def _storage(node: Node, name: str, place: int | None) -> tuple[int, int]:
    value = saved(node, name, place)
    return (0, 0) if value is None else storage_of(value)


def _ours(handle: Any) -> bool:
    """Somebody's hooks are on it: reading it would run them. Versions of PyTorch that cannot tell have no `data`."""
    return getattr(handle, "unpack_hook", None) is not None


def release_spent(nodes: Iterable[Node]) -> None:
    """What PyTorch does to the nodes of a pass without retain_graph."""
    for node in nodes:
        for _, _, handle in slots(node):
            hook(handle, _nothing, _raise_spent)


def _nothing(_: torch.Tensor) -> None:
    return None


def _raise_spent(_: object) -> torch.Tensor:
    raise spent()


class Released:
    """The buffers of one call that were let go, and the way to have them again."""

    def __init__(self, again: Callable[[], list[Node]]) -> None:
        self._again = again
        self._names: list[str] = []
        self._data: dict[int, torch.Tensor] = {}
        self._wanted: set[int] = set()
        self._samples: dict[int, torch.Tensor] = {}
        self.times = 0

    def release(self, nodes: list[Node], fixed: set[int], remember: bool) -> None:
        """Lets go of everything but aliases of parameters and arguments.

        To `remember` a few values of some buffers: a forward that cannot be repeated shall not give wrong gradients.
        """
        self._names = [node.name() for node in nodes]
        number = -1
        for node in nodes:
            for name, place, handle in slots(node):
                number += 1
                if _ours(handle):
                    continue
                value = saved(node, name, place)
                # A buffer that was written to since has value None here: it stays, and PyTorch will say so.
                if value is None or elsewhere(value) or storage_of(value)[0] in fixed:
                    continue
                if remember and (len(nodes) < _SAMPLES or number % (len(nodes) // _SAMPLES) == 0):
                    self._samples[number] = _sample(value).clone()
                del value
                if hook(handle, _Numbered(number), self._read):
                    self._wanted.add(number)

    def _read(self, number: int) -> torch.Tensor:
        if number not in self._data:
            self._fill()
        return self._data[number]

    def _fill(self) -> None:
        nodes = self._again()
        names = [node.name() for node in nodes]
        if names != self._names:
            raise RepeatError(f"the kept forward is not repeatable: {_first_difference(self._names, names)}.")
        number = -1
        for node in nodes:
            for name, place, _ in slots(node):
                number += 1
                if number in self._wanted:
                    value = saved(node, name, place)
                    if value is None:
                        raise RepeatError(f"the kept forward is not repeatable: {node.name()} saved nothing this time.")
                    if number in self._samples and not same_bits(_sample(value), self._samples[number]):
                        raise RepeatError(f"the kept forward is not repeatable: {node.name()} has other values now.")
                    self._data[number] = value.detach()
        self.times += 1

    def end_pass(self) -> None:
        self._data.clear()


def _sample(value: torch.Tensor) -> torch.Tensor:
    value = value.detach()
    while value.dim() and value.numel() > _VALUES and value.shape[0] > 1:
        value = value[-1] if value.dim() > 1 else value[-_VALUES:]
        if value.dim() == 1:
            return value[-_VALUES:]
    return value


class _Numbered:
    """A pack hook that forgets the tensor and remembers its number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, _: torch.Tensor) -> int:
        return self.number


def _first_difference(before: list[str], now: list[str]) -> str:
    for place, (one, other) in enumerate(zip(before, now, strict=False)):
        if one != other:
            return f"operation {place} from its end was {one} and is now {other}"
    return f"it had {len(before)} operations and now has {len(now)}"
