# SPDX-License-Identifier: BSD-3-Clause
"""Reentrant checkpoints none of whose inputs requires a gradient: whatever they run, their outputs have no history.

PyTorch says so in a warning, which programs switch off. The call is where it can be seen: what is recorded afterwards
shows no trace of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling

from ..torchgraph import Leaves
from .files import Files

__all__ = ["Checkpoints"]

_CALLS, _SITES, _DEPTH = 256, 64, 4


class CutNote:
    """One call site of such a checkpoint."""

    __slots__ = ("key", "leaves", "when")

    def __init__(self, when: int, key: tuple[Any, ...]) -> None:
        self.when, self.key = when, key
        self.leaves: set[int] = set()
        """The parameters of what it has run."""


class Checkpoints:
    """Those of this process."""

    def __init__(self, files: Files, leaves: Leaves) -> None:
        self._files, self._leaves = files, leaves
        self._calls = 0
        self._sites: dict[tuple[Any, ...], CutNote] = {}
        self._kind: Any = None
        self._before: Any = None
        self._wrapper: Any = None

    def start(self, watcher: Any) -> None:
        self._kind = getattr(sys.modules.get("torch.utils.checkpoint"), "CheckpointFunction", None)
        if self._kind is not None:
            self._before = self._kind.__dict__.get("apply")
            self._wrapper = classmethod(_entrance(watcher, self, self._kind, self._before))
            self._kind.apply = self._wrapper

    def stop(self) -> None:
        # One that came later calls ours on: then it stays, and does nothing.
        if self._kind is not None and self._kind.__dict__.get("apply") is self._wrapper:
            if self._before is not None:
                self._kind.apply = self._before
            else:
                del self._kind.apply

    def notes(self) -> list[CutNote]:
        return list(self._sites.values())

    def begins(self, when: int, arguments: tuple[Any, ...], frame: FrameType) -> None:
        """Called with the function that is to be run, PyTorch's own argument, and the inputs."""
        if self._calls >= _CALLS or not torch.is_grad_enabled() or not arguments:
            return
        if any(isinstance(a, torch.Tensor) and a.requires_grad for a in arguments):
            return
        self._calls += 1
        key = self._files.key(frame)
        note = self._sites.get(key)
        if note is None and len(self._sites) < _SITES:
            note = self._sites[key] = CutNote(when, key)
        if note is not None:
            note.leaves.update(self._leaves.number(p) for p in _parameters(arguments[0], _DEPTH) if p.requires_grad)


def _parameters(function: Any, depth: int) -> Iterator[torch.Tensor]:
    """The parameters of the modules that a function is, belongs to or has in its closure; of one that reads attributes of such a
    module, those of the attributes. No code of the user's is run."""
    if isinstance(function, torch.nn.Module):
        yield from function.parameters()
    elif isinstance(function, (list, tuple)) and depth:
        for one in function:
            yield from _parameters(one, depth - 1)
    elif isinstance(function, partial) and depth:
        for one in (function.func, *function.args, *function.keywords.values()):
            yield from _parameters(one, depth - 1)
    elif isinstance(function, MethodType) and depth:
        whole = isinstance(function.__func__, FunctionType) and function.__func__.__name__ in ("__call__", "forward")
        code = None if whole else getattr(function.__func__, "__code__", None)
        yield from _read(function.__self__, code, depth - 1)
    elif isinstance(function, FunctionType) and depth:
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            yield from _read(value, function.__code__, depth - 1)


def _read(value: Any, code: CodeType | None, depth: int) -> Iterator[torch.Tensor]:
    """What a function takes from a value: of a module, the parts that it names, else the whole."""
    parts = [
        part
        for name in (code.co_names if code is not None and isinstance(value, torch.nn.Module) else ())
        if (part := value._modules.get(name, value._parameters.get(name))) is not None
    ]
    for part in parts:
        yield from part.parameters() if isinstance(part, torch.nn.Module) else (part,)
    if not parts:
        yield from _parameters(value, depth)


def _entrance(watcher: Any, checkpoints: Checkpoints, kind: Any, before: Any) -> Callable[..., Any]:
    """What stands in the place of the class's `apply`."""
    begins, steady, frame_at = checkpoints.begins, watcher.steady, sys._getframe

    def apply(cls: Any, *arguments: Any) -> Any:
        __tracebackhide__ = True
        if not is_dynamo_compiling() and watcher.awake and not steady.left:
            try:
                begins(watcher.ledger.clock, arguments, frame_at(1))
            except Exception as error:
                watcher.fault(error)
        return (before.__get__(None, cls) if before is not None else super(kind, cls).apply)(*arguments)

    return apply
