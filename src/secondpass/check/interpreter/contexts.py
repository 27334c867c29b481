# SPDX-License-Identifier: BSD-3-Clause
"""Context managers: the ones that switch recording, those of the project, and all others."""

from __future__ import annotations

from typing import Any

from .machine import Machine
from .nodes import Refused
from .values import Object, Stream, Unknown

__all__ = ["Lasting", "Switch", "enter", "leave"]


class Switch:
    """`torch.no_grad()` and its kin: what recording is set to inside."""

    __slots__ = ("exceptions", "grad")

    def __init__(self, grad: bool | None, exceptions: tuple[str, ...] = ()) -> None:
        self.grad = grad
        self.exceptions = exceptions


class Lasting(Switch):
    """A switch that took effect when it was made; a `with` around it only says when it ends."""

    __slots__ = ("before",)

    def __init__(self, grad: bool | None, before: bool | None) -> None:
        super().__init__(grad)
        self.before = before


def enter(m: Machine, manager: Any) -> tuple[Any, Any]:
    """The value that `as` binds, and what `leave` needs."""
    if isinstance(manager, Switch):
        before = manager.before if isinstance(manager, Lasting) else m.grad
        if not manager.exceptions:
            m.grad = manager.grad
        return None, (manager, before)
    if isinstance(manager, Stream) and manager.fields.get("context"):
        manager.iterator = manager.make()
        before = m.grad
        return next(manager.iterator, None), (manager, before)
    if isinstance(manager, Object):
        found = manager.cls.find("__enter__")
        if found:
            return m.call(found[0], [manager], {}), (manager, m.grad)
        return manager, (None, m.grad)
    if isinstance(manager, Unknown):
        return Unknown(plain=manager.plain), (None, m.grad)
    return manager, (None, m.grad)


def leave(m: Machine, state: Any, error: Exception | None) -> bool:
    """Ends a context; returns whether it swallowed the exception."""
    manager, before = state
    if isinstance(manager, Switch):
        if manager.exceptions == ("expected",):
            if error is not None and m.engine.failures:
                m.engine.failures.pop()  # a test that wants the error
            return error is not None
        if manager.exceptions:
            name = getattr(error, "name", "RuntimeError")
            caught = error is not None and bool({name, "Exception", "BaseException"} & set(manager.exceptions))
            if caught and isinstance(error, Refused):
                m.engine.swallow(len(m.engine.failures))
            return caught
        m.grad = before
    elif isinstance(manager, Stream) and manager.iterator is not None:
        next(manager.iterator, None)
    elif isinstance(manager, Object):
        found = manager.cls.find("__exit__")
        if found:
            nothing = [None] * 3 if error is None else [Unknown(plain=True)] * 3
            return m.known_truth(m.call(found[0], [manager, *nothing], {})) is True and error is not None
    return False
