# SPDX-License-Identifier: BSD-3-Clause
"""Which module was running when a node was built: one number per call of a module, as in `watcher.log`.

Only while `secondpass see` has it on: the hooks cost about a microsecond for each call of a module.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from array import array
from bisect import bisect_right
from inspect import CO_OPTIMIZED
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from ..watcher.files import Files
from ..watcher.objects import fields_of, local

__all__ = ["Modules"]

_BITS = 24
_MASK = (1 << _BITS) - 1
_KEEP = 1_000_000
_KNOWN = 50_000
_peek = torch.autograd._get_sequence_nr  # type: ignore[attr-defined]


class Modules:
    """Records from `start` to `stop`. It refers to modules weakly."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._marks = array("Q")
        self._paths: list[str] = [""]
        """By index; the first stands for no module at all."""
        self._known: dict[int, tuple[Any, int]] = {}
        self._open: list[int] = []
        self._main = threading.main_thread().ident
        self._handles: list[Any] = []

    def start(self) -> None:
        self._handles = [
            register_module_forward_pre_hook(self._begins),
            register_module_forward_hook(self._ends, always_call=True),
        ]

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def path(self, number: int) -> str | None:
        """The innermost module that was running when a node of the main thread was built."""
        at = bisect_right(self._marks, number << _BITS | _MASK) - 1
        return self._paths[self._marks[at] & _MASK] or None if at >= 0 else None

    def _begins(self, module: Any, args: Any) -> None:
        if is_dynamo_compiling() or threading.get_ident() != self._main:
            return
        try:
            index = self._index(module)
        except Exception:  # it costs the user a name, and nothing else
            if os.environ.get("SECONDPASS_DEBUG"):
                raise
            index = 0
        self._open.append(index)
        self._mark(index)

    def _ends(self, module: Any, args: Any, result: Any) -> None:
        if is_dynamo_compiling() or threading.get_ident() != self._main or not self._open:
            return
        self._open.pop()
        self._mark(self._open[-1] if self._open else 0)

    def _mark(self, index: int) -> None:
        self._marks.append(_peek() << _BITS | index)
        if len(self._marks) > 2 * _KEEP:
            del self._marks[:-_KEEP]

    def _index(self, module: Any) -> int:
        entry = self._known.get(id(module))
        if entry is not None and entry[0]() is module:
            return entry[1]
        if len(self._known) > _KNOWN:
            self._known.clear()
        if not self._open:
            root = self._name(module)
            for name, inner in torch.nn.Module.named_modules(module):
                self._enter(inner, f"{root}.{name}" if name else root)
        else:
            # Not a part of the module that was called: something that the module has built on its way.
            self._enter(module, f"{self._paths[self._open[-1]]}.{type(module).__name__}")
        return self._known[id(module)][1]

    def _enter(self, module: Any, path: str) -> None:
        if len(self._paths) >= _MASK:
            self._known[id(module)] = (weakref.ref(module), 0)
            return
        self._paths.append(path)
        self._known[id(module)] = (weakref.ref(module), len(self._paths) - 1)

    def _name(self, module: Any) -> str:
        """What the user's frames call a module; else its class."""
        for frame in self._files.frames(sys._getframe(3)):
            if frame.f_code.co_flags & CO_OPTIMIZED:
                with local(frame) as names:
                    found = _called(module, names) or _called(module, fields_of(names.get("self")))
            else:
                found = _called(module, frame.f_locals)
            found = found or _called(module, frame.f_globals)
            if found:
                return found
        return type(module).__name__


def _called(module: Any, names: dict[str, Any]) -> str:
    inner = names.get("_modules")
    parts = {**names, **inner} if isinstance(inner, dict) else names
    return next((name for name, value in list(parts.items()) if value is module), "")
