# SPDX-License-Identifier: BSD-3-Clause
"""Saved tensors of PyTorch before 2.10, which do not say what they hold, nor whether somebody's hooks are on them.

What they hold is read by unpacking them, and that would run the hooks. So Python's profiler stands watch meanwhile: the
first Python function that is called is a hook, or part of one, and is stopped before its first line.
"""

from __future__ import annotations

import gc
import sys
from types import FrameType
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction

__all__ = ["CANNOT_SAY", "plain", "taken_out", "unpacked"]

CANNOT_SAY = not hasattr(torch._C._autograd.SavedTensor, "unpack_hook")


class _Unpacked:
    """What a saved tensor of 2.10 says of itself."""

    def __init__(self, data: Any, hook: Any = None) -> None:
        self.data, self.unpack_hook = data, hook


class _Hook:
    """Stands for a hook that was not run: whose it is, and nothing else, is known of it."""

    def __init__(self, frame: FrameType) -> None:
        self.__module__ = frame.f_globals.get("__name__", "")
        self.__qualname__ = frame.f_code.co_qualname


class _Called(BaseException):
    """A Python function was about to run."""


def plain(node: Any, name: str) -> str:
    """The attribute that gives what stands in a `_raw_saved_x` of a node."""
    return "saved_tensors" if isinstance(node, BackwardCFunction) else name.replace("_raw", "", 1)


def unpacked(node: Any, name: str, raw: Any) -> Any:
    """What stands in a `_raw_saved_x` of a node, as 2.10 would show it; raises if it was freed and is a list."""
    several = isinstance(raw, (list, tuple))
    try:
        value = _without_hooks(node, plain(node, name))
    except _Called as called:
        found = _Unpacked(None, called.args[0])
        return [found] * len(raw) if several else found
    except RuntimeError as error:
        if "inplace operation" not in str(error):
            if several:
                raise
            return _Unpacked(None)
        written = _Unpacked("written to since")  # there, but PyTorch does not hand it out
        return [written] * len(raw) if several else written
    return [_Unpacked(one) for one in value] if several else _Unpacked(value)


def taken_out(node: Any, name: str) -> torch.Tensor | None:
    """The tensor in a `_raw_saved_x` that was written to since, of a node that a pass has failed at.

    PyTorch hands it to hooks and to nobody else. So it is given hooks, which raise what PyTorch raises: whoever tries
    the pass again is told the same.
    """
    found: list[torch.Tensor] = []
    try:
        _without_hooks(node, name.replace("_raw", "", 1))
    except RuntimeError as error:
        refused = str(error)

        def refuse(packed: Any) -> torch.Tensor:
            raise RuntimeError(refused)

        try:
            getattr(node, name).register_hooks(found.append, refuse)
        except (AttributeError, RuntimeError):
            return None
    except (_Called, AttributeError):
        return None
    return found[0] if found else None


def _without_hooks(node: Any, name: str) -> Any:
    before, collecting = sys.getprofile(), gc.isenabled()
    gc.disable()  # or finalizers of others may be stopped
    try:
        sys.setprofile(_stop)
        return getattr(node, name)
    finally:
        sys.setprofile(before)
        if collecting:
            gc.enable()


def _stop(frame: FrameType, event: str, argument: Any) -> None:
    if event == "call":
        raise _Called(_Hook(frame))
