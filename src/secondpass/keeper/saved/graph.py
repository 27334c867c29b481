# SPDX-License-Identifier: BSD-3-Clause
"""Reading PyTorch's graph: nodes, what they saved, and letting that go.

NOTE [ Late hooks ]
1. Registering hooks on a tensor that a node has already saved makes the node forget the tensor and remember what the
   pack hook returned. So it can be let go at any time after the forward, without a pass.
2. A Python reference to a node keeps the whole graph behind it alive. Nodes are looked up again for each walk, from
   tensors known by weak reference, and never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from ..errors import freed

__all__ = [
    "Node", "emptied", "free", "held_by", "node_of", "release", "same_bits", "saved", "saved_bytes", "slots", "storage_of",
    "walk", "walk_between",
]  # fmt: skip

Node = Any  # torch.autograd.graph.Node; its attributes differ from node to node

_RAW = "_raw_saved_"
_slot_names: dict[type, tuple[str, ...]] = {}
_OWNERS = (torch.Tensor, torch.nn.Parameter)
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def node_of(root: Any) -> Node | None:
    """The node behind a tensor or a gradient edge."""
    return root.grad_fn if isinstance(root, torch.Tensor) else getattr(root, "node", None)


def walk_between(starts: Iterable[Node], first: int, end: int) -> list[Node]:
    """As `walk`, inside of those numbers that PyTorch gave to its nodes. The starts lie there."""
    todo = list(starts)
    seen = set(todo)
    found = []
    while todo:
        node = todo.pop()
        found.append(node)
        for child, _ in node.next_functions:
            if child is not None and child not in seen and first <= child._sequence_nr() < end:
                seen.add(child)
                todo.append(child)
    return found


def walk(starts: Iterable[Node | None], inside: Callable[[Node], bool] | None = None) -> list[Node]:
    """All nodes that can be reached from the given ones, in an order that depends on the graph alone."""
    todo = [node for node in starts if node is not None and (inside is None or inside(node))]
    todo.reverse()
    seen = set(todo)
    found = []
    while todo:
        node = todo.pop()
        found.append(node)
        for child, _ in node.next_functions:
            if child is not None and child not in seen and (inside is None or inside(child)):
                seen.add(child)
                todo.append(child)
    return found


def slots(node: Node) -> Iterator[tuple[str, int | None, Any]]:
    """The places in which a node saves tensors: name, position in a list, and PyTorch's handle."""
    for name in _names(type(node)):
        try:
            raw = getattr(node, name)
        except RuntimeError:  # a freed node, or a custom Function that saved nothing
            continue
        if isinstance(raw, (tuple, list)):
            yield from ((name, place, handle) for place, handle in enumerate(raw))
        elif raw is not None:
            yield name, None, raw


def _names(kind: type) -> tuple[str, ...]:
    names = _slot_names.get(kind)
    if names is None:
        names = _slot_names[kind] = tuple(name for name in dir(kind) if name.startswith(_RAW))
    return names


def hooked(handle: Any) -> bool:
    """Somebody's hooks are on it: reading it would run them. Versions of PyTorch that cannot tell have no `data`."""
    return getattr(handle, "unpack_hook", None) is not None


def saved(node: Node, name: str, place: int | None) -> torch.Tensor | None:
    """The tensor in one slot, or None where there is none, where it is freed, hooked or was written to since."""
    plain = "saved_tensors" if name == "_raw_saved_tensors" else "_" + name[len("_raw_") :]
    try:
        value = getattr(node, plain)
        if place is not None:
            value = value[place]
    except (RuntimeError, IndexError):
        return None
    return value if isinstance(value, torch.Tensor) else None


def held_by(nodes: Iterable[Node]) -> Iterator[torch.Tensor]:
    """What these nodes hold themselves."""
    for node in nodes:
        for name, place, handle in slots(node):
            if not hooked(handle):
                value = saved(node, name, place)
                if value is not None:
                    yield value


def saved_bytes(nodes: Iterable[Node]) -> dict[int, int]:
    """The storages that these nodes hold themselves, and their bytes."""
    found = dict(map(storage_of, held_by(nodes)))
    found.pop(0, None)
    return found


def release(handle: Any, pack: Callable[[torch.Tensor], Any], unpack: Callable[[Any], torch.Tensor]) -> bool:
    """Lets a saved tensor go: see NOTE [ Late hooks ] 1. False where there is nothing, or somebody else's hooks."""
    try:
        handle.register_hooks(pack, unpack)
    except RuntimeError:
        return False
    return True


def free(nodes: Iterable[Node], error: Callable[[], Exception] | None = None, ours: Any = None) -> None:
    """What PyTorch does to the nodes of a pass without retain_graph. A later pass is told the error.

    Where one slot of a node has our hook, all have: they were saved in one go.
    """
    unpack = _raise_freed if error is None else _Raise(error)
    known = _slot_names
    for node in nodes:
        kind = type(node)
        if known.get(kind) or (kind not in known and _names(kind)):
            for _, _, handle in slots(node):
                hook = getattr(handle, "unpack_hook", None)
                if hook is None:
                    release(handle, _nothing, unpack)
                elif ours is not None and hook == ours:  # anybody else may have hooked a slot of his own
                    break


def _nothing(_: torch.Tensor) -> None:
    return None


def _raise_freed(_: object) -> torch.Tensor:
    raise freed(
        "This part of the graph lies outside of what secondpass keeps: pass retain_graph=True to the earlier pass, or "
        "put it inside the kept function."
    )


class _Raise:
    def __init__(self, error: Callable[[], Exception]) -> None:
        self._error = error

    def __call__(self, _: object) -> torch.Tensor:
        raise self._error()


def storage_of(tensor: torch.Tensor) -> tuple[int, int]:
    """Which memory a tensor lives in, and its bytes; (0, 0) where it has none (sparse, wrapped, fake, not there yet)."""
    try:
        storage = tensor.untyped_storage()
        size = storage.nbytes()
        if size and type(tensor) not in _OWNERS and not storage.data_ptr():
            return 0, 0  # a wrapper around other tensors (jagged, distributed): to read there would crash
        return storage._cdata, size
    except (RuntimeError, NotImplementedError, AttributeError, ValueError):
        return 0, 0


def emptied(tensor: torch.Tensor) -> bool:
    """Its memory is given and taken by somebody else (FSDP empties the storage of a parameter between uses)."""
    try:
        return tensor.numel() > 0 and tensor.untyped_storage().nbytes() == 0
    except (RuntimeError, NotImplementedError, AttributeError):
        return False


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Bit for bit: NaNs, signs of zeros and all integers count."""
    if one.shape != other.shape or one.dtype != other.dtype or one.device != other.device:
        return False
    if one.layout != torch.strided or one.is_quantized:
        return False
    if one.is_meta:
        return True  # there are no bits
    kind = _INTEGERS.get(one.element_size(), torch.uint8)
    try:
        left, right = (value.detach().contiguous().reshape(-1).view(kind) for value in (one, other))
    except RuntimeError:
        return False
    return torch.equal(left, right)
