# SPDX-License-Identifier: BSD-3-Clause
"""Ignite's Engine: its loop around a function of the program, and the handlers that it calls on the way.

NOTE [ What an engine does ]
1. `run` calls the handlers of STARTED; in every epoch those of EPOCH_STARTED, then for every batch those of
   ITERATION_STARTED, the function with (engine, batch), and those of ITERATION_COMPLETED, then EPOCH_COMPLETED; at last
   COMPLETED. What the function gives is `engine.state.output`.
2. `engine.state` lives as long as the engine: what the program puts there is carried from batch to batch.
3. An event with a filter (`Events.ITERATION_COMPLETED(every=100)`) calls its handlers on some turns only. Which, cannot
   always be told: they are called where the count of the turns says so, or else on every turn that a condition allows.
"""

from __future__ import annotations

import ast
from typing import Any

from ..interpreter.calls import call
from ..interpreter.library import CLASSES, function, models
from ..interpreter.loops import turns
from ..interpreter.machine import Machine
from ..interpreter.values import Bound, Dict, External, Function, Native, Object, Unknown

__all__: list[str] = []

_ENGINE = "ignite.engine.Engine"
_EVENT = "ignite.engine.Event"


def _first(function: Any) -> tuple[int, Any] | None:
    """Where a function of the program begins."""
    function = function.function if isinstance(function, Bound) else function
    return (function.node.lineno, function.module) if isinstance(function, Function) else None


def _init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    owner = args[0]
    owner.hidden["function"] = args[1] if len(args) > 1 else kwargs.get("process_function", Unknown())
    owner.hidden["handlers"] = []
    state = owner.attrs["state"] = Object(CLASSES["ignite.engine.State"])
    state.attrs.update(epoch=0, iteration=0, output=None, batch=None, metrics=Dict(depth=m.short))
    state.attrs["metrics"].loose = True


def _names(event: Any) -> list[tuple[str, Any]]:
    """The events that something names, each with how often (or None where that cannot be told)."""
    if isinstance(event, External) and event.name.startswith("ignite.engine.Events."):
        return [(event.name.rpartition(".")[2], 1)]
    if isinstance(event, Object) and event.cls.external == _EVENT:
        return list(event.hidden["events"])
    return []


def _filtered(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Object:
    """`Events.X(every=n)`"""
    made = Object(CLASSES[_EVENT])
    every = kwargs.get("every")
    once = kwargs.get("once")
    often = ("once", once) if isinstance(once, int) else every if type(every) is int and every > 0 else None
    made.hidden["events"] = [(args[0], often)]
    return made


_EVENTS = (
    "STARTED EPOCH_STARTED ITERATION_STARTED GET_BATCH_STARTED GET_BATCH_COMPLETED ITERATION_COMPLETED EPOCH_COMPLETED "
    "COMPLETED EXCEPTION_RAISED TERMINATE"
).split()

for _event in _EVENTS:

    @function(f"ignite.engine.Events.{_event}")
    def _call(m: Machine, args: list[Any], kwargs: dict[str, Any], event: str = _event) -> Object:
        return _filtered(m, [event, *args], kwargs)


def _either(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Object:
    made = Object(CLASSES[_EVENT])
    made.hidden["events"] = [name for a in args for name in _names(a)]
    return made


models(_EVENT, __or__=_either, __ror__=_either)
models("ignite.engine.State")


def _add(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Unknown:
    owner, event, handler = args[0], args[1], args[2] if len(args) > 2 else kwargs.pop("handler", Unknown())
    names = _names(event)
    # When a handler is called that may do anything cannot be told: then nothing is known of what the engine does.
    if not names:
        owner.hidden["opaque"] = True
    for name, often in names:
        owner.hidden["handlers"].append((name, often, handler, list(args[3:]), dict(kwargs)))
    return Unknown(plain=True)


def _on(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Native:
    """`@engine.on(event)`"""

    def decorate(m: Machine, given: list[Any], words: dict[str, Any]) -> Any:
        _add(m, [args[0], args[1], given[0], *args[2:]], dict(kwargs))
        return given[0]

    return Native("on", decorate)


def _takes_engine(handler: Any, count: int) -> bool:
    """Whether a handler wants the engine as well: one without parameters does not."""
    found = handler.function if isinstance(handler, Bound) else handler
    if not isinstance(found, Function):
        return True
    spec: ast.arguments = found.node.args
    own = len(spec.posonlyargs) + len(spec.args) - isinstance(handler, Bound)
    return spec.vararg is not None or own > count


def _fire(m: Machine, owner: Object, name: str, count: int) -> None:
    for event, often, handler, args, kwargs in list(owner.hidden["handlers"]):
        if event != name:
            continue
        if isinstance(often, tuple):
            if count != often[1]:
                continue
        elif often is None:
            if not m.truth(Unknown(plain=True)):
                continue
        elif count % often:
            continue
        before = [owner] if _takes_engine(handler, len(args)) else []
        call(m, handler, [*before, *args], dict(kwargs))


def _run(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    owner, state = args[0], args[0].attrs["state"]
    data = args[1] if len(args) > 1 else kwargs.get("data", Unknown(plain=True))
    epochs = kwargs.get("max_epochs", args[2] if len(args) > 2 else 1)
    frame, act = m.frames[-1], owner.hidden["function"]
    begins = _first(act)
    line = begins[0] if begins is not None and begins[1] is frame.module else frame.line
    if not isinstance(state, Object) or owner.hidden.get("running") or "opaque" in owner.hidden:
        return state
    owner.hidden["running"] = True
    state.attrs.update(epoch=0, iteration=0, max_epochs=epochs)
    try:
        _fire(m, owner, "STARTED", 1)
        for _ in turns(m, range(epochs) if type(epochs) is int else Unknown(plain=True), frame.line):
            state.attrs["epoch"] += 1
            _fire(m, owner, "EPOCH_STARTED", state.attrs["epoch"])
            for batch in turns(m, data if data is not None else Unknown(plain=True), line):
                state.attrs["iteration"] += 1
                state.attrs["batch"] = batch
                _fire(m, owner, "ITERATION_STARTED", state.attrs["iteration"])
                state.attrs["output"] = call(m, act, [owner, batch], {})
                m.changes.append(state.serial)
                _fire(m, owner, "ITERATION_COMPLETED", state.attrs["iteration"])
            _fire(m, owner, "EPOCH_COMPLETED", state.attrs["epoch"])
        _fire(m, owner, "COMPLETED", 1)
    finally:
        owner.hidden["running"] = False
    return state


models(
    _ENGINE,
    __init__=_init,
    run=_run,
    on=_on,
    add_event_handler=_add,
    **{
        n: lambda m, args, kwargs: Unknown(plain=True)
        for n in "terminate terminate_epoch fire_event register_events has_event_handler remove_event_handler "
        "load_state_dict state_dict".split()
    },
)
