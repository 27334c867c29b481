# SPDX-License-Identifier: BSD-3-Clause
"""Threads and processes: what is started is read where it is started.

A thread shares all it sees with the program, and so each is read. What one process does the others of its function do, in
memory of their own: one of them is read.
"""

from __future__ import annotations

from typing import Any

from .library import function, models
from .machine import Machine
from .values import Bound, External, Function, Unknown

__all__: list[str] = []

_THREADS = ("threading.Thread",)
_PROCESSES = ("multiprocessing.Process", "multiprocessing.context.Process", "torch.multiprocessing.Process")


def _init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    given = dict(zip(("group", "target", "name", "args", "kwargs"), args[1:], strict=False)) | kwargs
    args[0].hidden["work"] = given.get("target"), given.get("args", ()), given.get("kwargs") or {}


def _run(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    target, values, words = args[0].hidden.get("work", (None, (), {}))
    # With arguments that cannot be told a function is read by itself.
    if target is not None and isinstance(values, (list, tuple)) and isinstance(words, dict):
        m.call(target, list(values), dict(words))


def _start(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    found = args[0].cls.find("run")
    if found:
        m.call(found[0], [args[0]], {})


def _once(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    found = args[0].cls.find("run")
    work = found[0] if found and isinstance(found[0], Function) else args[0].hidden.get("work", (None,))[0]
    work = work.function if isinstance(work, Bound) else work
    if isinstance(work, Function) and id(work.node) not in m.started:
        m.started.add(id(work.node))
        _start(m, args, kwargs)


_NOTHING = dict.fromkeys(("join", "terminate", "kill", "close"), lambda m, args, kwargs: None)
for _names, _act in ((_THREADS, _start), (_PROCESSES, _once)):
    for _name in _names:
        models(_name, **{**_NOTHING, "__init__": _init, "run": _run, "start": _act})


@function("torch.multiprocessing.spawn", "torch.multiprocessing.spawn.spawn", "torch.multiprocessing.start_processes")
def _spawn(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    given = dict(zip(("fn", "args", "nprocs"), args, strict=False)) | kwargs
    values = given.get("args", ())
    if isinstance(values, (list, tuple)) and isinstance(given.get("fn"), (Function, Bound)):
        m.call(given["fn"], [Unknown(plain=True), *values], {})
    return Unknown(plain=True)


@function("multiprocessing.get_context", "torch.multiprocessing.get_context")
def _context(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> External:
    return External("torch.multiprocessing")
