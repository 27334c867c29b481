# SPDX-License-Identifier: BSD-3-Clause
"""Reading PyTorch's graph: nodes, their buffers, and letting a buffer go.

NOTE [ Late hooks ]
1. Registering hooks on a buffer that a node has already saved makes the node forget the tensor and remember what the
   pack hook returned. So a buffer can be let go at any time after the forward, without a pass, and be asked for again
   through the unpack hook. The graph itself stays the one PyTorch built: order of accumulation, hooks and second
   derivatives are PyTorch's own.
2. A hooked buffer has no version check of its own any more. Buffers that alias parameters or inputs are therefore left
   alone: they cost nothing, and PyTorch goes on checking them.
3. A Python reference to a node keeps the whole graph behind it alive. Nodes are looked up again for each walk, from
   tensors known by weak reference, and never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

__all__ = ["Node", "elsewhere", "hook", "node_of", "own", "same_bits", "sample", "saved", "slots", "storage_of", "walk"]

Node = Any  # torch.autograd.graph.Node; its attributes differ from node to node

_RAW = "_raw_saved_"
_VALUES = 64
_slot_names: dict[type, tuple[str, ...]] = {}


def node_of(root: Any) -> Node | None:
    """The node behind a tensor or a gradient edge."""
    return root.grad_fn if isinstance(root, torch.Tensor) else getattr(root, "node", None)


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
    """The places in which a node saves buffers: name, position in a list, and PyTorch's handle."""
    kind = type(node)
    names = _slot_names.get(kind)
    if names is None:
        names = _slot_names[kind] = tuple(name for name in dir(kind) if name.startswith(_RAW))
    for name in names:
        try:
            raw = getattr(node, name)
        except RuntimeError:  # a spent node, or a custom Function that saved nothing
            continue
        if isinstance(raw, (tuple, list)):
            yield from ((name, place, handle) for place, handle in enumerate(raw))
        elif raw is not None:
            yield name, None, raw


def saved(node: Node, name: str, place: int | None) -> torch.Tensor | None:
    """The buffer in one slot, or None where there is none, where it is spent, hooked or was written to since."""
    plain = "saved_tensors" if name == "_raw_saved_tensors" else "_" + name[len("_raw_") :]
    try:
        value = getattr(node, plain)
        if place is not None:
            value = value[place]
    except (RuntimeError, IndexError):
        return None
    return value if isinstance(value, torch.Tensor) else None


def hook(handle: Any, pack: Callable[[torch.Tensor], Any], unpack: Callable[[Any], torch.Tensor]) -> bool:
    """Lets a buffer go: see NOTE [ Late hooks ] 1. False where there is nothing, or somebody else's hooks."""
    try:
        handle.register_hooks(pack, unpack)
    except RuntimeError:
        return False
    return True


def storage_of(tensor: torch.Tensor) -> tuple[int, int]:
    """Which memory a tensor lives in, and its bytes; (0, 0) where it has none of its own (sparse, wrapped, fake)."""
    try:
        storage = tensor.untyped_storage()
        return storage._cdata, storage.nbytes()
    except (RuntimeError, NotImplementedError, AttributeError):
        return 0, 0


def elsewhere(tensor: torch.Tensor) -> bool:
    """Its memory is given and taken by somebody else (FSDP empties the storage of a parameter between uses)."""
    try:
        return tensor.numel() > 0 and tensor.untyped_storage().nbytes() == 0
    except (RuntimeError, NotImplementedError, AttributeError):
        return False


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Equal, and where not: two NaNs are not equal but may well be the same bits.

    What kernels keep for themselves is not compared, for they leave parts of it unwritten: bytes are workspaces of
    cuDNN and oneDNN, one or two integers are the seed of an attention kernel, which it fills only when it drops out.
    """
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    seed = one.numel() <= 2 and not (one.is_floating_point() or one.is_complex() or one.dtype == torch.bool)
    if seed or one.dtype == torch.uint8 or elsewhere(one) or elsewhere(other):
        return True
    if one.layout != torch.strided or one.is_quantized or torch.equal(one, other):
        return True
    try:
        left, right = one.contiguous().reshape(-1), other.contiguous().reshape(-1)
        return torch.equal(left.view(torch.uint8), right.view(torch.uint8))
    except RuntimeError:
        return False


def sample(value: torch.Tensor) -> torch.Tensor:
    """A few values of a tensor, by which another one can be told from it."""
    value = value.detach()
    while value.dim() and value.numel() > _VALUES and value.shape[0] > 1:
        value = value[-1] if value.dim() > 1 else value[-_VALUES:]
        if value.dim() == 1:
            return value[-_VALUES:]
    return value


def own(node: Node, before: Callable[[Any], Any], after: Callable[[Any, Any], Any]) -> list[Any]:
    """Hooks in front of and behind a node, unless somebody else looks at what it returns."""
    handle = node.register_hook(after)
    if len(handle.hooks_dict_ref() or ()) > 1:
        handle.remove()
        return []
    return [node.register_prehook(before), handle]
