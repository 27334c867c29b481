# SPDX-License-Identifier: BSD-3-Clause
"""Statements that guard others: `try`, `with`, `raise`."""

from __future__ import annotations

import ast
from typing import Any

from .contexts import enter, leave
from .expressions import assign, evaluate
from .machine import Machine, Raised, Scope
from .names import bind
from .nodes import Refused
from .values import Class, External, Object, Unknown

__all__ = ["catches", "handle", "raise_", "try_", "with_"]


def with_(m: Machine, node: Any, scope: Scope) -> Any:
    """Executes `with`."""
    entered: list[Any] = []
    signal = None
    try:
        for item in node.items:
            manager = evaluate(m, item.context_expr, scope)
            value, state = enter(m, manager)
            entered.append(state)
            if item.optional_vars is not None:
                assign(m, item.optional_vars, value, scope)
        signal = m.block(node.body, scope)
    except (Raised, Refused) as error:
        swallowed = False
        while entered:
            swallowed = leave(m, entered.pop(), error) or swallowed
        if not swallowed:
            raise
        return None
    finally:
        while entered:
            leave(m, entered.pop(), None)
    return signal


def catches(m: Machine, handler: ast.ExceptHandler, error: Exception, scope: Scope) -> bool:
    """Whether a handler takes an exception of the program."""
    name = error.name if isinstance(error, Raised) else "RuntimeError"
    if handler.type is None:
        return True
    wanted = evaluate(m, handler.type, scope)
    for kind in wanted if isinstance(wanted, tuple) else (wanted,):
        found = kind.name.rpartition(".")[2] if isinstance(kind, (External, Class)) else ""
        if found in (name, "Exception", "BaseException") or (isinstance(kind, Unknown) and not found):
            return True
    return False


def try_(m: Machine, node: Any, scope: Scope) -> Any:
    """Executes `try`."""
    trying = m.trying
    try:
        m.trying += bool(node.handlers)
        signal = m.block(node.body, scope)
        m.trying = trying
        if signal is None:
            signal = m.block(node.orelse, scope)
    except (Raised, Refused) as error:
        m.trying = trying
        handler = next((h for h in node.handlers if catches(m, h, error, scope)), None)
        if handler is None:
            final = m.block(node.finalbody, scope)
            if final is not None:
                return final
            raise
        signal = handle(m, handler, error, scope)
    final = m.block(node.finalbody, scope)
    return signal if final is None else final


def handle(m: Machine, handler: ast.ExceptHandler, error: Exception, scope: Scope) -> Any:
    """Executes a handler."""
    if handler.name:
        bind(scope, handler.name, Unknown(plain=True))
    before = len(m.engine.failures)
    signal = m.block(handler.body, scope)
    if isinstance(error, Refused):
        m.engine.swallow(before)
    return signal


def raise_(m: Machine, node: ast.Raise, scope: Scope) -> Any:
    """Executes `raise`."""
    if node.exc is None:
        raise Raised("Exception")
    value = evaluate(m, node.exc, scope)
    name = ""
    if isinstance(value, Object):
        name = value.cls.name
    elif isinstance(value, (Class, External)):
        name = value.name.rpartition(".")[2]
    target = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    raise Raised(name or ast.unparse(target).rpartition(".")[2], value)
