# SPDX-License-Identifier: BSD-3-Clause
"""Classes of the standard library that hold values for a program: queues, chained dictionaries, variables of a context."""

from __future__ import annotations

import ast
from typing import Any

from .containers import contains, method
from .items import get_item, set_item
from .library import models
from .machine import Machine, Raised
from .values import Dict, List, Object, Unknown, length

__all__: list[str] = []

Args = list[Any]
Words = dict[str, Any]

_IN = ast.In()


def _nothing(m: Machine, args: Args, kwargs: Words) -> None:
    return None


# queues ---------------------------------------------------------------------------------------------------------------


def _queue(m: Machine, args: Args, kwargs: Words) -> None:
    args[0].hidden["items"] = List(depth=m.short)


def _put(m: Machine, args: Args, kwargs: Words) -> Any:
    return method(m, args[0].hidden["items"], "append").act(m, args[1:2] or [kwargs["item"]], {})


def _got(*where: int) -> Any:
    def act(m: Machine, args: Args, kwargs: Words) -> Any:
        items = args[0].hidden["items"]
        return method(m, items, "pop").act(m, list(where), {}) if items else Unknown()

    return act


def _waiting(m: Machine, args: Args, kwargs: Words) -> Any:
    size = length(args[0].hidden["items"])
    return Unknown(plain=True) if size is None else size


def _empty(m: Machine, args: Args, kwargs: Words) -> Any:
    size = length(args[0].hidden["items"])
    return Unknown(plain=True) if size is None else size == 0


for _name, _where in {
    "queue.Queue": (0,),
    "queue.SimpleQueue": (0,),
    "queue.LifoQueue": (),
    "asyncio.Queue": (0,),
}.items():
    models(
        _name,
        __init__=_queue,
        **dict.fromkeys(("put", "put_nowait"), _put),
        **dict.fromkeys(("get", "get_nowait"), _got(*_where)),
        **dict.fromkeys(("task_done", "join"), _nothing),
        qsize=_waiting,
        empty=_empty,
        full=lambda m, args, kwargs: Unknown(plain=True),
    )

models("threading.local")


# dictionaries in a chain ----------------------------------------------------------------------------------------------


def _chain(m: Machine, args: Args, kwargs: Words) -> None:
    args[0].attrs["maps"] = List(args[1:] or [Dict(depth=m.short)], m.short)


def _first_with(m: Machine, owner: Object, key: Any) -> Any:
    """The first dictionary that has a key; None where none has it, or that cannot be told."""
    for each in owner.attrs["maps"]:
        if m.known_truth(contains(m, _IN, key, each)) is not False:
            return each
    return None


def _chained(m: Machine, args: Args, kwargs: Words) -> Any:
    found = _first_with(m, args[0], args[1])
    return m.lack("KeyError") if found is None else get_item(m, found, args[1])


def _chained_or(m: Machine, args: Args, kwargs: Words) -> Any:
    found = _first_with(m, args[0], args[1])
    return [*args[2:], None][0] if found is None else get_item(m, found, args[1])


def _flat(m: Machine, args: Args, kwargs: Words) -> Dict:
    made = Dict(depth=m.short)
    for each in reversed(args[0].attrs["maps"]):
        if isinstance(each, dict):
            made.update(each)
        made.loose = made.loose or length(each) is None
    return made


def _new_child(m: Machine, args: Args, kwargs: Words) -> Object:
    first = args[1] if len(args) > 1 else Dict(depth=m.short)
    made = Object(args[0].cls)
    made.attrs["maps"] = List([first, *args[0].attrs["maps"]], m.short)
    method(m, first, "update").act(m, [], kwargs) if kwargs else None
    return made


def _of_first(name: str) -> Any:
    return lambda m, args, kwargs: method(m, args[0].attrs["maps"][0], name).act(m, args[1:], kwargs)


def _of_all(name: str) -> Any:
    return lambda m, args, kwargs: method(m, _flat(m, args, {}), name).act(m, args[1:], kwargs)


models(
    "collections.ChainMap",
    __init__=_chain,
    __getitem__=_chained,
    __setitem__=lambda m, args, kwargs: set_item(m, args[0].attrs["maps"][0], args[1], args[2]),
    __iter__=_flat,
    __contains__=lambda m, args, kwargs: contains(m, _IN, args[1], _flat(m, args, {})),
    get=_chained_or,
    new_child=_new_child,
    **{name: _of_first(name) for name in ("update", "setdefault", "pop", "clear")},
    **{name: _of_all(name) for name in ("items", "keys", "values", "copy")},
)


# variables of a context -----------------------------------------------------------------------------------------------


def _variable(m: Machine, args: Args, kwargs: Words) -> None:
    args[0].hidden["values"] = [kwargs["default"]] if "default" in kwargs else []


def _get(m: Machine, args: Args, kwargs: Words) -> Any:
    values = args[0].hidden["values"] or args[1:]
    if not values:
        raise Raised("LookupError")
    return values[-1]


def _set(m: Machine, args: Args, kwargs: Words) -> Object:
    m.changes.append(args[0].serial)
    token = Object(_TOKEN)
    token.hidden["before"] = args[0].hidden["values"]
    args[0].hidden["values"] = [args[1]]
    return token


def _reset(m: Machine, args: Args, kwargs: Words) -> None:
    m.changes.append(args[0].serial)
    args[0].hidden["values"] = args[1].hidden.get("before", [Unknown()]) if isinstance(args[1], Object) else [Unknown()]


_TOKEN = models("contextvars.Token")
models("contextvars.ContextVar", __init__=_variable, get=_get, set=_set, reset=_reset)
