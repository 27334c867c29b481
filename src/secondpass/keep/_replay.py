# SPDX-License-Identifier: BSD-3-Clause
"""A forward that is run again for its buffers."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from ._shortcut import Astray, Learn, Shorten, Site
from ._state import severed

__all__ = ["Entry", "Inside", "Replay", "describe", "replaying"]

replaying = threading.local()
"""`replaying.depth` is above zero while a forward runs again: nothing is kept then."""


class _Enough(BaseException):
    """Ends a recompute early. Not an Exception: a forward may well catch those."""


class Inside(BaseException):
    """The forward runs a pass of its own over buffers that were not held for it."""


class Entry:
    __slots__ = ("alias", "data", "dtype", "host", "nbytes", "place", "recipe", "sample", "shape", "version")

    def __init__(self, tensor: torch.Tensor, alias: bool, nbytes: int) -> None:
        self.data: torch.Tensor | None = tensor.detach()
        self.version = tensor._version
        self.shape, self.dtype = tensor.shape, tensor.dtype
        self.alias, self.nbytes = alias, nbytes
        self.host: Any = None
        self.sample: torch.Tensor | None = None
        self.recipe: Any = None
        self.place: Any = None
        """Of a derived buffer: its strides and offset in what the recipe gives."""


class Replay:
    """One such forward. Each buffer is shown, with its twin of the first time, to `visit`, which says what differs."""

    def __init__(
        self, run: Any, visit: Any, whole: bool = False, learn: Learn | None = None, shortcut: Site | None = None
    ) -> None:
        self._run, self._visit, self._whole = run, visit, whole
        self._last = max((n for n in range(len(run.entries)) if self._wanted(n)), default=-1)
        self._learn = learn
        self._shorten = Shorten(shortcut, self._pack, self._wanted, trial=whole) if shortcut is not None else None
        self._count = 0
        self._problem: str | None = None

    def _wanted(self, number: int) -> bool:
        entry = self._run.entries[number]
        if entry.alias or self._whole:
            return not entry.alias
        return entry.data is None and number in self._run.made and not self._run.derived(entry)

    def run(self) -> str | None:
        run = self._run
        mode = self._learn or self._shorten or contextlib.nullcontext()
        hooks = saved_tensors_hooks(self._pack, _as_held)
        start = torch._C._autograd._get_sequence_nr()
        replaying.depth = getattr(replaying, "depth", 0) + 1
        try:
            with run.surroundings.again(run.unit.habits), torch.enable_grad(), hooks, mode:
                run.unit.call(*severed(run.args), **severed(run.kwargs))
        except _Enough:
            pass
        finally:
            replaying.depth -= 1
            if run.frame.open:
                run.frame.gaps.append((start, torch._C._autograd._get_sequence_nr()))
            if self._shorten is not None:
                self._shorten.forget()
                self._shorten = None  # it holds this
        if self._problem is None and self._count <= self._last:
            run.parted = self._count
            self._problem = f"it saved {self._count} buffers instead of {len(run.entries)}"
        return self._problem

    def _pack(self, tensor: torch.Tensor) -> torch.Tensor | None:
        number, self._count = self._count, self._count + 1
        entries = self._run.entries
        self._run.parted = number
        if self._learn is not None:
            self._learn.saw(tensor)
        if number >= len(entries):
            self._problem = f"it saved more than the {len(entries)} buffers of the first time"
            raise _Enough
        entry = entries[number]
        if entry.shape != tensor.shape or entry.dtype != tensor.dtype:
            found = f"{_dtype(tensor.dtype)}{list(tensor.shape)}"
            self._problem = f"buffer {number} was {found} instead of {describe(entry)}"
            raise _Enough
        if self._shorten is not None and self._wanted(number) and self._shorten.depends(tensor):
            raise Astray
        self._problem = self._visit(number, entry, tensor)
        # A first comparison goes to the end: it must also see that nothing is added.
        if self._problem is not None or (number == self._last and not self._whole):
            raise _Enough
        # The forward may run a pass of its own: only then is more held for it than what this is about.
        if entry.data is not None:
            return entry.data
        return tensor.detach() if self._whole or entry.alias or self._run.unit.reads_inside else None


def _as_held(tensor: torch.Tensor | None) -> torch.Tensor:
    if tensor is None:
        raise Inside
    return tensor


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def describe(entry: Entry) -> str:
    return f"{_dtype(entry.dtype)}{list(entry.shape)}"
