# SPDX-License-Identifier: BSD-3-Clause
"""Buffers that PyTorch itself holds: what they weigh, letting them go, and making them again.

They are known by how many nodes the call had built before theirs. The same call run again builds the same nodes in the
same order, so their twins are found at the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from ._errors import RepeatError, spent
from ._graph import Node, elsewhere, hook, same_bits, sample, saved, slots, storage_of

__all__ = ["Released", "built_between", "release_spent", "weigh"]

_SAMPLES = 64


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
    """The buffers of one call that were let go, and the way to have them again.

    `again` runs the call once more and returns its nodes by place: how many nodes the call had built before them.
    """

    def __init__(self, again: Callable[[], dict[int, Node]]) -> None:
        self._again = again
        self._names: dict[int, str] = {}
        self._data: dict[tuple[int, int], torch.Tensor] = {}
        self._samples: dict[tuple[int, int], torch.Tensor] = {}
        self.times = 0

    def release(self, nodes: dict[int, Node], fixed: set[int], remember: bool) -> None:
        """Lets go of everything but aliases of parameters and arguments.

        To `remember` a few values of some buffers: a forward that cannot be repeated shall not give wrong gradients.
        Otherwise it will not be repeated, and who asks is told why: then aliases need not be told from the rest.
        """
        for count, (at, node) in enumerate(nodes.items()):
            for number, (name, place, handle) in enumerate(slots(node)):
                if _ours(handle):
                    continue
                if remember:
                    value = saved(node, name, place)
                    # A buffer that was written to since has value None here: it stays, and PyTorch will say so.
                    if value is None or elsewhere(value) or storage_of(value)[0] in fixed:
                        continue
                    if len(nodes) < _SAMPLES or count % (len(nodes) // _SAMPLES) == 0:
                        self._samples[at, number] = sample(value).clone()
                    del value
                if hook(handle, _Numbered((at, number)), self._read):
                    self._names[at] = node.name()

    def _read(self, key: tuple[int, int]) -> torch.Tensor:
        # A pass in another thread may end at any time, and lets go of what was made.
        value = self._data.get(key)
        return self._fill()[key] if value is None else value

    def _fill(self) -> dict[tuple[int, int], torch.Tensor]:
        nodes, made = self._again(), {}
        for at, name in self._names.items():
            node = nodes.get(at)
            if node is None or node.name() != name:
                found = "nothing" if node is None else node.name()
                raise RepeatError(f"the kept forward is not repeatable: operation {at} was {name} and is now {found}.")
            for number, (slot, place, _) in enumerate(slots(node)):
                value = saved(node, slot, place)
                if value is None:
                    continue
                known = self._samples.get((at, number))
                if known is not None and not same_bits(sample(value), known):
                    raise RepeatError(f"the kept forward is not repeatable: {name} has other values now.")
                made[at, number] = value.detach()
        self.times += 1
        self._data = made
        return made

    def end_pass(self) -> None:
        self._data = {}


class _Numbered:
    """A pack hook that forgets the tensor and remembers where it was."""

    __slots__ = ("key",)

    def __init__(self, key: tuple[int, int]) -> None:
        self.key = key

    def __call__(self, _: torch.Tensor) -> tuple[int, int]:
        return self.key
