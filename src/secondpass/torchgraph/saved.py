# SPDX-License-Identifier: BSD-3-Clause
"""What a node keeps for its backward: whether it is there, freed or changed, and how much it is.

The rules are those of NOTE [ Reading a graph without touching it ] in `nodes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

from .before_2_10 import CANNOT_SAY, plain, taken_out, unpacked
from .nodes import is_leaf

__all__ = ["changed", "freed", "saved_bytes", "saved_tensors", "storage", "written_to"]


def _raw_names(kind: Any) -> tuple[str, ...]:
    # The classes of Python Functions come and go with the user's: they are not remembered.
    return ("_raw_saved_tensors",) if issubclass(kind, BackwardCFunction) else _raw_names_of(kind)


def _raw(node: Any, name: str) -> Any:
    """A place for a saved tensor, or several; raises if it is a list that was freed (rule 4)."""
    raw = getattr(node, name)
    return unpacked(node, name, raw) if CANNOT_SAY else raw


@cache
def _raw_names_of(kind: type) -> tuple[str, ...]:
    return tuple(n for n in dir(kind) if n.startswith("_raw_saved_"))


def _state(raw: Any, node: Any, name: str) -> bool | None:
    """True: it was freed; False: it is there; None: there never was one."""
    if raw.data is not None or raw.unpack_hook is not None:
        return False
    try:
        return None if getattr(node, name.replace("_raw", "", 1)) is None else False
    except (RuntimeError, AttributeError):
        return True


def freed(node: Any) -> bool | None:
    """Whether a node's saved tensors were freed; None for a node that saved nothing."""
    verdict: bool | None = None
    for name in _raw_names(type(node)):
        try:
            raw = _raw(node, name)
        except RuntimeError:
            return True  # rule 4
        except AttributeError:
            continue
        if isinstance(raw, (list, tuple)):
            # Not freed (rule 4); a place in it that holds nothing never did: `save_for_backward(x, None)`.
            verdict = False if any(one.data is not None or one.unpack_hook is not None for one in raw) else verdict
            continue
        state = _state(raw, node, name)
        if state:
            return True
        if state is False:
            verdict = False
    return verdict


def saved_tensors(node: Any) -> list[tuple[str, torch.Tensor]]:
    """The saved tensors that a node holds now, by name, as they lie there (no hook is run)."""
    found = []
    for name in _raw_names(type(node)):
        try:
            raw = _raw(node, name)
            for one in raw if isinstance(raw, (list, tuple)) else (raw,):
                if isinstance(one.data, torch.Tensor):
                    found.append((name.removeprefix("_raw_saved_"), one.data))
        except (RuntimeError, AttributeError):
            continue
    return found


def changed(node: Any) -> str | None:
    """Which saved tensor of a node was changed in place since it was saved, if one was."""
    if is_leaf(node):
        return None
    for name in _raw_names(type(node)):
        try:
            raw = _raw(node, name)
        except (RuntimeError, AttributeError):
            continue
        several = raw if isinstance(raw, (list, tuple)) else None
        if any(one.unpack_hook is not None for one in ((raw,) if several is None else several)):
            continue  # reading it would run user code
        try:
            # The named attribute, not `unpack`: a node's own output can only be unpacked together with the node.
            getattr(node, plain(node, name))
        except RuntimeError as error:
            if "inplace operation" in str(error):
                at = _changed_of(several, str(error)) if several is not None else None
                return name.removeprefix("_raw_saved_") + (f"[{at}]" if at is not None else "")
        except AttributeError:
            continue
    return None


def _changed_of(several: Sequence[Any], message: str) -> int | None:
    """Which of several saved tensors PyTorch means that refuses them together."""
    outputs = []
    for k, one in enumerate(several):
        try:
            one.unpack()
        except RuntimeError as error:
            if "inplace operation" in str(error):
                return k
            outputs.append(k)  # the node's own, which can only be unpacked together with the node
        except AttributeError:  # PyTorch before 2.10
            return None
    fits = [k for k in outputs if f" {list(several[k].data.shape)}]" in message]
    return fits[0] if fits else None


def written_to(node: Any, name: str) -> torch.Tensor | None:
    """The saved tensor that `changed` has named, of a node that a pass has failed at."""
    if CANNOT_SAY:
        return taken_out(node, f"_raw_saved_{name}")
    whole, _, at = name.rstrip("]").partition("[")
    if not at:
        return dict(saved_tensors(node)).get(name)
    data = _raw(node, f"_raw_saved_{whole}")[int(at)].data
    return data if isinstance(data, torch.Tensor) else None


def saved_bytes(graph: dict[Any, Any]) -> int:
    """Bytes that a graph has saved, each memory counted once, parameters and other leaves not at all."""
    leaves = {storage(n.variable) for n in graph if is_leaf(n) and n.variable is not None}
    sizes: dict[int, int] = {}
    for node in graph:
        for _, data in saved_tensors(node):
            key = storage(data)
            if key not in leaves:
                sizes[key] = data.untyped_storage().nbytes() if key else data.numel() * data.element_size()
    return sum(sizes.values())


def storage(tensor: torch.Tensor) -> int:
    """What tells the memory of a tensor from other memory; 0 where it has none of its own."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return 0
