# SPDX-License-Identifier: BSD-3-Clause
"""Threads and processes: what is started is read where it is started.

A thread shares all it sees with the program, and so each is read. What one process does the others of its function do, in
memory of their own: one of them is read.
"""

from __future__ import annotations

from typing import Any

from .library import function, models
from .machine import Machine
from .values import Bound, External, Function, List, Object, Unknown

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


_FUTURE = models("concurrent.futures.Future", result=lambda m, args, kwargs: args[0].hidden.get("result", Unknown()))
_FUTURE.attrs["get"] = _FUTURE.attrs["result"]


def _future(m: Machine, function: Any, values: Any, words: Any) -> Object:
    """What is given to a thread is done where it is given."""
    made = Object(_FUTURE)
    made.hidden["result"] = m.call(function, list(values), dict(words))
    return made


def _submit(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Object:
    return _future(m, args[1], args[2:], kwargs)


def _apply(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Object:
    given = dict(zip(("func", "args", "kwds"), args[1:], strict=False)) | kwargs
    return _future(m, given["func"], given.get("args", ()), given.get("kwds", {}))


def _map(name: str) -> Any:
    def act(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
        made = m.call_external(External(name), args[1:] if name == "builtins.map" else args[1:3], {})
        return m.call_external(External("builtins.list"), [made], {})

    return act


for _name in ("concurrent.futures.ThreadPoolExecutor", "multiprocessing.pool.ThreadPool", "multiprocessing.dummy.Pool"):
    models(
        _name,
        __init__=lambda m, args, kwargs: None,
        __enter__=lambda m, args, kwargs: args[0],
        __exit__=lambda m, args, kwargs: None,
        submit=_submit,
        apply_async=_apply,
        **dict.fromkeys(("map", "imap", "imap_unordered"), _map("builtins.map")),
        starmap=_map("itertools.starmap"),
        **dict.fromkeys(("shutdown", "close", "join"), lambda m, args, kwargs: None),
    )


@function("asyncio.gather", "concurrent.futures.as_completed")
def _gathered(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return args[0] if len(args) == 1 and isinstance(args[0], list) else List(args, m.short)


@function("asyncio.create_task", "asyncio.ensure_future", "asyncio.wait_for", "asyncio.shield", "asyncio.run")
def _awaited(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return args[0]


@function("asyncio.to_thread")
def _to_thread(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return m.call(args[0], args[1:], kwargs)


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
