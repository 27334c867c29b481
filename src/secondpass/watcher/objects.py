# SPDX-License-Identifier: BSD-3-Clause
"""What the user's objects, frames and modules hold, read without running any code of theirs."""

from __future__ import annotations

import dis
import gc
import os
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import _lru_cache_wrapper as _Cached
from functools import cache, partial
from inspect import CO_OPTIMIZED
from queue import Queue
from types import CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import torch

from .libraries import library_of

__all__ = ["fields_of", "is_foreign", "local", "neighbours", "parts"]

_ASKING = frozenset({"locals", "vars", "f_locals", "eval", "exec"})
"""A function that calls one of these may hold the dict of its own locals. (`model.eval()` is not among them.)"""
_ASKED: WeakKeyDictionary[CodeType, bool] = WeakKeyDictionary()
_MODULE_INTERNALS = frozenset(vars(torch.nn.Module()))
_LIBRARIES = frozenset({"torch", "numpy", "builtins", "IPython", "ipykernel", "traitlets"})
# Library objects that exist to hold the user's tensors.
_HOLDERS = ("torch.utils.data", "torch.distributions", "transformers.modeling_outputs")
_MODULES = 32


@contextmanager
def local(frame: FrameType) -> Iterator[dict[str, Any]]:
    """The locals of a function's frame, leaving no trace.

    Up to 3.12 reading them fills a dict that stays with the frame: it would keep the user's tensors alive after
    `del`, so
    it is emptied again. But it is also the very dict that the program got from `locals()`, or that a debugger works in:
    where either may be so, it is not touched.
    """
    if not frame.f_code.co_flags & CO_OPTIMIZED:
        yield frame.f_locals  # a module, a class body or `exec`: the names are in a dict of the user's own
    elif sys.version_info >= (3, 13):
        yield frame.f_locals  # type: ignore[unreachable]
    elif sys.gettrace() is not None or _may_hold_its_locals(frame.f_code):
        yield {}
    else:
        names = frame.f_locals
        try:
            yield names
        finally:
            names.clear()


def _may_hold_its_locals(code: CodeType) -> bool:
    if _ASKING.isdisjoint(code.co_names):
        return False
    found = _ASKED.get(code)
    if found is None:
        # `f_locals` is an attribute; the others are functions.
        found = _ASKED[code] = any(
            i.argval in _ASKING and (i.opname in ("LOAD_GLOBAL", "LOAD_NAME") or i.argval == "f_locals")
            for i in dis.get_instructions(code)
        )
    return found


def fields_of(value: Any) -> dict[str, Any]:
    """What `vars` gives, without asking the value."""
    try:
        fields = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return fields if type(fields) is dict else {}


def parts(value: Any) -> Iterator[tuple[str, str, Any]]:
    """What an object holds: how it is reached from there (a way of `record.Path`, or by a name of its own), by what key, and
    the value."""
    kind = type(value)
    if issubclass(kind, torch.nn.Module):
        fields = fields_of(value)
        own = {k: v for k, v in fields.items() if k not in _MODULE_INTERNALS}
        for key, inner in (own | fields.get("_buffers", {}) | fields.get("_modules", {})).items():
            yield "attribute", key, inner
    elif kind is FunctionType:
        yield from _of_function(value)
    elif kind is MethodType:
        yield "attribute", "__self__", value.__self__
    elif kind is _Cached:
        # What it has kept can be had in no other way.
        for inner in gc.get_referents(value):
            if type(inner) is FunctionType:
                yield from _of_function(inner)
            elif not issubclass(type(inner), (type, ModuleType)):
                yield "call", "...", inner
    elif kind is partial:
        # What is bound goes by the names that the function has for its arguments.
        arguments = value.func.__code__.co_varnames if type(value.func) is FunctionType else ()
        for k, inner in enumerate(value.args):
            yield ("cell", arguments[k], inner) if k < len(arguments) else ("call", "...", inner)
        for key, inner in value.keywords.items():
            yield "cell", key, inner
    elif kind is GeneratorType:
        frame = value.gi_frame
        if frame is not None:
            with local(frame) as names:
                found = [("local", key, inner) for key, inner in names.items()]
            yield from found
    elif issubclass(kind, Queue):
        yield "queue", "", fields_of(value).get("queue")
    elif is_foreign(kind):
        for key, inner in list(fields_of(value).items()):
            yield "attribute", key, inner
        for key in getattr(kind, "__slots__", ()) or ():
            if isinstance(key, str):
                try:
                    yield "attribute", key, object.__getattribute__(value, key)
                except AttributeError:
                    continue


def _of_function(value: FunctionType) -> Iterator[tuple[str, str, Any]]:
    for key, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
        try:
            yield "cell", key, cell.cell_contents
        except ValueError:
            continue
    # A default argument lives as long as its function; so does what was hung on the function itself.
    named = value.__code__.co_varnames[: value.__code__.co_argcount]
    defaults = value.__defaults__ or ()
    kept = [*zip(named[len(named) - len(defaults) :], defaults, strict=False), *(value.__kwdefaults__ or {}).items()]
    for key, inner in kept:
        if issubclass(type(inner), (torch.Tensor, list, dict, set, deque)):
            yield "cell", key, inner
    for key, inner in list(value.__dict__.items()):
        yield "attribute", key, inner


def is_foreign(kind: type) -> bool:
    """Whether a class comes neither from torch nor from Python itself: the user's, or another library's."""
    home = type.__getattribute__(kind, "__module__")
    return isinstance(home, str) and _is_foreign_home(home)


@cache
def _is_foreign_home(home: str) -> bool:
    top = home.partition(".")[0]
    if home.startswith(_HOLDERS):
        return True
    return top not in _LIBRARIES and (top not in sys.stdlib_module_names or home in ("types", "argparse"))


def neighbours(modules: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The names of the modules beside these that they, or those in turn, import something from."""
    seen = [*modules]
    for names in seen:
        home = names.get("__file__")
        for value in list(names.values()) if type(home) is str else ():
            kind = type(value)
            if kind is FunctionType:
                others: Any = value.__globals__
            elif kind is ModuleType:
                others = object.__getattribute__(value, "__dict__")
            else:
                continue
            file = others.get("__file__")
            if type(file) is not str or len(seen) >= _MODULES or any(others is s for s in seen):
                continue
            if _beside(file, _folder(home)):
                seen.append(others)
                yield others


@cache
def _folder(file: str) -> str:
    return os.path.dirname(os.path.abspath(file)) + os.sep


@cache
def _beside(file: str, folder: str) -> bool:
    return os.path.abspath(file).startswith(folder) and not library_of(file)
