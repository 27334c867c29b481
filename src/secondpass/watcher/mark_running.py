# SPDX-License-Identifier: BSD-3-Clause
"""Marks in the functions of a program that is already running: lines for `install`, `watch` and the plugins.

`secondpass run` marks files as they are loaded. Here they are loaded already, so the functions that exist are given code
that was compiled once more from the same file, with marks; what is imported later goes through the loader. A script defines
its functions after it has called `install`, most often: by the time that it makes an optimizer, it has.

NOTE [ Code is exchanged, and nothing else ]
1. A function is marked only where its file, compiled as it is, gives the very code that the function has.
2. A frame that is under way keeps its old code: what it does between two passes is not seen (see `Watcher.frozen`).
3. Marks are found by their names in `builtins` and stay there for good, silent while nobody watches: a frame may outlive
   the watch. For the same reason there is one log for the whole process.
4. Where torch.compile has compiled something, no code is exchanged any more: it would be compiled again.
5. Generators mark neither their entry nor their end. Among functions without marks nobody could tell where their work
   ends, so they have none.
"""

from __future__ import annotations

import builtins
import gc
import os
import sys
from collections.abc import Iterator
from functools import wraps
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any
from weakref import ref

from torch.optim import Optimizer

from ..source import uncollected
from .files import Files
from .loader import Finder, compile_marked
from .log import MARK, Log

__all__ = ["Live"]

_SIZE = 2_000_000
_FILES = 2000
_SUSPENDED = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
# Whoever sends functions elsewhere by value takes their globals along, but no builtins.
_SENDERS = ("cloudpickle", "dill", "joblib.externals.cloudpickle", "ray.cloudpickle")


class Live:
    """The marks of a running program, for as many watches as there are."""

    _only: Live | None = None

    def __init__(self) -> None:
        self.log = Log()
        self.log.live = True
        self.watches = 0
        self._files = Files()
        self._marked: dict[str, dict[tuple[Any, ...], CodeType]] = {}
        """By file: what its functions have, and what they are given instead."""
        self._plain: list[tuple[ref[FunctionType], CodeType]] = []
        """The functions that were given other code, and their own."""
        self._given: set[CodeType] = set()
        self._finder: Finder | None = None
        self._init: Any = None
        """What stands in the place of `Optimizer.__init__` until the first optimizer is made."""

    @classmethod
    def begin(cls) -> Live | None:
        """Starts to mark; None where `secondpass run` has marks of its own in this program."""
        only = cls._only = cls._only or cls()
        if vars(builtins).get(MARK, only.log.mark) is not only.log.mark:
            return None
        only._begin()
        return only

    def _begin(self) -> None:
        self.watches += 1
        if self.watches == 1:
            self._finder = Finder(_root(), self.log)
            self._finder.install(first=False)
            self._tell_dynamo()
            self.mark()
            self._mark_again_with_the_first_optimizer()

    def end(self) -> None:
        """The last watch that ends gives the functions their own code back."""
        self.watches -= 1
        if self.watches:
            return
        self.log.mute()
        self._restore_init()
        if self._finder is not None:
            self._finder.remove()
        if not _compiled():
            for where, code in self._plain:
                function = where()
                if function is not None and function.__code__ in self._given:
                    function.__code__ = code
        self._plain, self._given = [], set()

    def _mark_again_with_the_first_optimizer(self) -> None:
        plain = Optimizer.__init__

        @wraps(plain)
        def made(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            if self._init is made:
                self._restore_init()
                try:
                    self.mark()
                except Exception:  # then lines are found by name
                    if os.environ.get("SECONDPASS_DEBUG"):
                        raise
            plain(optimizer, *args, **kwargs)

        self._init, Optimizer.__init__ = made, made  # type: ignore[method-assign, assignment]

    def _restore_init(self) -> None:
        init, self._init = self._init, None
        if init is not None and vars(Optimizer)["__init__"] is init:
            Optimizer.__init__ = init.__wrapped__  # type: ignore[method-assign]

    def mark(self) -> None:
        """Marks the functions of the user's that there are by now."""
        if _compiled():
            return
        by_value = any(name in sys.modules for name in _SENDERS)
        for function in [f for f in gc.get_objects() if type(f) is FunctionType]:
            code = function.__code__
            if not self._files.mine(code) or code.co_filename.startswith("<") or code.co_flags & _SUSPENDED:
                continue
            marked = self._of_file(code.co_filename).get(_identity(code))
            if marked is None or marked.co_freevars != code.co_freevars:
                continue
            if getattr(function, "__builtins__", None) is not vars(builtins):
                continue
            self._plain.append((ref(function), code))
            self._given.add(marked)
            function.__code__ = marked
            if by_value:
                function.__globals__.update(self.log.names)

    def _of_file(self, file: str) -> dict[tuple[Any, ...], CodeType]:
        if file not in self._marked:
            self._marked[file] = {}
            if len(self._marked) <= _FILES:
                self._marked[file] = self._compile(Path(file))
        return self._marked[file]

    def _compile(self, file: Path) -> dict[tuple[Any, ...], CodeType]:
        try:
            source = file.read_bytes()
            if len(source) > _SIZE:
                return {}
            plain = compile(source, str(file), "exec", dont_inherit=True)
            with uncollected():
                marked = compile_marked(source, str(file), self.log, str(file.resolve()))
        except Exception:  # not there, or no Python any more
            return {}
        old, new = list(_functions(plain)), list(_functions(marked))
        if [c.co_qualname for c in old] != [c.co_qualname for c in new]:
            return {}
        return {_identity(a): b for a, b in zip(old, new, strict=True) if a.co_code != b.co_code}

    def _tell_dynamo(self) -> None:
        config = sys.modules.get("torch._dynamo.config")
        if config is not None and self._finder is not None:
            self._finder.tell_dynamo(config)


def _functions(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if type(inner) is CodeType:
            yield inner
            yield from _functions(inner)


def _identity(code: CodeType) -> tuple[Any, ...]:
    """What two compilations of one function have in common. (Equality asks for what the interpreter has learned, too.)"""
    return (
        code.co_qualname,
        code.co_firstlineno,
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_linetable,
        tuple(repr(c) for c in code.co_consts if type(c) is not CodeType),
    )


def _compiled() -> bool:
    utils = sys.modules.get("torch._dynamo.utils")
    return utils is not None and bool(utils.counters["frames"]["total"])


def _root() -> Path:
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(file).resolve().parent if isinstance(file, str) else Path.cwd()
