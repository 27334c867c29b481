# SPDX-License-Identifier: BSD-3-Clause
"""The places in which a node keeps what it saved, those that saved-tensor hooks have filled with something else included.

No hook is run: what a hook has packed is looked at as it lies there. See NOTE [ Reading a graph without touching it ] in
`nodes`. What is handed out refers to the user's tensors: use it at once, and let it go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch.autograd.function import BackwardCFunction

from .saved import _raw, _raw_names, _state

__all__ = ["Slot", "attributes", "checkpoint_of", "hook_region", "region_of", "slots"]

_CLOSURES = 3


class Slot(NamedTuple):
    """One place for a saved tensor."""

    name: str
    """As PyTorch calls it: `mat1`, `result`."""
    freed: bool
    data: Any = None
    """The tensor, or what a hook has packed in its place."""
    hook: Any = None
    """What would be called to unpack it."""


def slots(node: Any) -> list[Slot]:
    """Every place of a node that holds something, or held something that was freed."""
    found = []
    for raw_name in _raw_names(type(node)):
        name = raw_name.removeprefix("_raw_saved_")
        try:
            raw = _raw(node, raw_name)
        except RuntimeError:
            found.append(Slot(name, True))  # rule 4
            continue
        except AttributeError:
            continue
        if isinstance(raw, (list, tuple)):
            for k, one in enumerate(raw):
                if one.data is not None or one.unpack_hook is not None:
                    found.append(Slot(f"{name}[{k}]", False, one.data, one.unpack_hook))
            continue
        data, hook = raw.data, raw.unpack_hook
        if data is not None or hook is not None:
            found.append(Slot(name, False, data, hook))
        elif _state(raw, node, raw_name):
            found.append(Slot(name, True))
    return found


def attributes(node: Any) -> list[tuple[str, torch.Tensor]]:
    """Tensors that a Python Function has hung on its `ctx`: nobody frees them while the node lives."""
    if not isinstance(node, BackwardCFunction):
        return []
    try:
        held = object.__getattribute__(node, "__dict__")
    except AttributeError:
        return []
    found = []
    for key, value in list(held.items()):
        if isinstance(value, torch.Tensor):
            found.append((f"ctx.{key}", value))
        elif type(value) in (list, tuple):
            found += [(f"ctx.{key}[{k}]", one) for k, one in enumerate(value) if isinstance(one, torch.Tensor)]
    return found


def region_of(node: Any) -> str | None:
    """What kind of region a node stands for as a whole: `compiled`, `checkpoint` (the reentrant kind), or none."""
    if not isinstance(node, BackwardCFunction):
        return None
    if type(node).__name__.startswith("CompiledFunction"):
        return "compiled"
    home = getattr(getattr(type(node), "_forward_cls", None), "__module__", "")
    return "checkpoint" if home == "torch.utils.checkpoint" else None


def hook_region(hook: Any) -> str:
    """Whose hook it is that packs: told from where its code comes from."""
    home = getattr(hook, "__module__", None) or getattr(type(hook), "__module__", "") or ""
    name = getattr(hook, "__qualname__", "") or ""
    if home == "torch.utils.checkpoint":
        return "checkpoint"
    if home == "torch.autograd.graph" and name.startswith("save_on_cpu"):
        return "offload"
    return "hooks"


def checkpoint_of(hook: Any) -> tuple[int, list[tuple[str, torch.Tensor]]]:
    """Of a non-reentrant checkpoint: a number for the region, and the tensors that it keeps to run its forward again."""
    for cell in _cells(hook, _CLOSURES):
        arguments = getattr(cell, "saved_args", None)  # `_CheckpointFrame`
        if isinstance(arguments, list):
            held = [(k, getattr(a, "data", a)) for k, a in enumerate(arguments)]
            found = [(f"argument {k}", t) for k, t in held if isinstance(t, torch.Tensor)]
            return id(cell), found + _keywords(cell)
        saver = getattr(cell, "input_saver", None)  # until 2.12 a node saves them, behind an empty tensor
        if isinstance(saver, torch.Tensor):
            inputs = [(s.name, s.data) for s in slots(saver.grad_fn) if isinstance(s.data, torch.Tensor)]
            return id(cell), inputs + _keywords(cell)
    return 0, []


def _keywords(frame: Any) -> list[tuple[str, torch.Tensor]]:
    """What it keeps beside the arguments: keywords, and the state of the random numbers."""
    found: list[tuple[str, torch.Tensor]] = []
    for cell in _cells(getattr(frame, "recompute_fn", None), 1):
        if isinstance(cell, torch.Tensor):
            found.append(("random state", cell))
        elif type(cell) is dict:
            found += [(f"keyword {k}", t) for k, t in list(cell.items()) if isinstance(t, torch.Tensor)]
        elif type(cell) is list:
            found += [("random state", t) for t in list(cell) if isinstance(t, torch.Tensor)]
    return found


def _cells(function: Any, depth: int) -> Iterator[Any]:
    """What a function's closure holds, and the functions in it."""
    for cell in getattr(function, "__closure__", None) or ():
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        yield value
        if depth > 1 and callable(value) and getattr(value, "__closure__", None):
            yield from _cells(value, depth - 1)
