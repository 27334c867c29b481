# SPDX-License-Identifier: BSD-3-Clause
"""The loop that a framework walks around a method of the program.

There is no line for its passes and steps: they are said to happen where the method returns its loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..interpreter.attributes import get_attribute
from ..interpreter.calls import call
from ..interpreter.loops import turns
from ..interpreter.machine import Frame, Machine, Scope
from ..interpreter.values import Function, Object, Unknown

__all__ = ["defines", "rounds", "tell"]


def defines(owner: Object, name: str) -> Function | None:
    """The function of the program that an object has by that name."""
    found = owner.cls.find(name)
    return found[0] if found and isinstance(found[0], Function) else None


def tell(m: Machine, owner: Object, name: str, *args: Any) -> None:
    """Calls a method that the program may have defined for the framework to call."""
    if defines(owner, name):
        call(m, get_attribute(m, owner, name), list(args), {})


def rounds(m: Machine, owner: Object, step: Function, turn: Callable[[Callable[..., Any]], None]) -> None:
    """Lets `turn` do one iteration after the other, until enough of them were seen.

    `turn` is handed a function that calls `owner`'s method of a given name and notes where it returned.
    """
    frame = Frame(step.name, step.module, Scope({"self": owner}, None, step.module))
    frame.line = step.node.lineno

    def act(name: str, args: list[Any]) -> Any:
        m.returned = None
        value = call(m, get_attribute(m, owner, name), args, {})
        if m.returned is not None and m.returned[0] is step.module:
            frame.line = m.returned[1]
        return value

    m.frames.append(frame)
    try:
        for _ in turns(m, Unknown(plain=True), step.node.lineno):
            turn(act)
    finally:
        m.frames.remove(frame)
