# SPDX-License-Identifier: BSD-3-Clause
"""Generator functions: statements that hold a `yield` run as Python generators, all others as usual."""

from __future__ import annotations

import ast
from collections.abc import Generator, Sequence
from typing import Any

from .contexts import enter, leave
from .expressions import assign, evaluate
from .loops import is_over, iterate, turns
from .machine import Loop, Machine, Return, Scope
from .statements import BREAK, block, lean, stays, widen
from .values import Unknown, serials

__all__ = ["yields"]


def yields(m: Machine, body: Sequence[ast.stmt], scope: Scope) -> Generator[Any, Any, Any]:
    """What a generator's body yields; returns the signal that ended it."""
    for node in body:
        m.spend()
        m.frames[-1].line = node.lineno
        if not m.project.has_yield(node):
            signal = block(m, [node], scope)
        else:
            signal = yield from _statement(m, node, scope)
        if signal is not None:
            return signal
    return None


def _statement(m: Machine, node: ast.stmt, scope: Scope) -> Generator[Any, Any, Any]:
    if not isinstance(node, ast.While):  # its condition is asked in each turn
        yield from _within(m, [e for e in ast.iter_child_nodes(node) if isinstance(e, ast.expr)], scope)
    if isinstance(node, ast.If):
        _, answer = m.condition(node, scope, lean(m, node), stays(m, node))
        return (yield from yields(m, node.body if answer else node.orelse, scope))
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        return (yield from _for(m, node, scope))
    elif isinstance(node, ast.While):
        return (yield from _while(m, node, scope))
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        return (yield from _with(m, node, scope))
    elif isinstance(node, ast.Try):
        signal = yield from yields(m, node.body, scope)
        final = yield from yields(m, node.finalbody, scope)
        return signal if final is None else final
    elif isinstance(node, ast.Return):
        return Return(None)
    else:
        return block(m, [node], scope)
    return None


def _within(m: Machine, nodes: Sequence[ast.expr], scope: Scope) -> Generator[Any, Any, None]:
    """Yields what expressions yield on their way, and notes what it was answered with: their values are asked for next."""
    given = m.frames[-1].given
    for node in nodes:
        for inner in m.project.yields(node):
            given[id(inner)] = yield from _yielded(m, inner, scope)


def _yielded(m: Machine, node: ast.expr, scope: Scope) -> Generator[Any, Any, Any]:
    if isinstance(node, ast.Yield):
        sent = yield None if node.value is None else evaluate(m, node.value, scope)
        return Unknown() if sent is None else sent
    if isinstance(node, ast.YieldFrom):
        count = 0
        items = iterate(m, evaluate(m, node.value, scope))
        for item in items:
            # An endless source is cut by whoever walks this generator; this bound only guards against ourselves.
            count += 1
            if count > 200:
                break
            yield item
    return Unknown()


def _for(m: Machine, node: Any, scope: Scope) -> Generator[Any, Any, Any]:
    source = evaluate(m, node.iter, scope)
    before = m.cuts
    for item in turns(m, source, node.lineno, lazy=True):
        assign(m, node.target, item, scope)
        signal = yield from yields(m, node.body, scope)
        if signal is BREAK:
            break
        if isinstance(signal, Return):
            return signal
    if m.cuts > before:
        widen(m, node, scope)
    return None


def _while(m: Machine, node: ast.While, scope: Scope) -> Generator[Any, Any, Any]:
    frame, loop = m.frames[-1], Loop(node.lineno, lazy=True)
    frame.loops.append(loop)
    m.short += 1
    try:
        while not is_over(m, loop):
            yield from _within(m, [node.test], scope)
            if m.known_truth(evaluate(m, node.test, scope)) is False:
                break
            loop.born = serials.last
            m.turn(loop)
            signal = yield from yields(m, node.body, scope)
            if signal is BREAK:
                break
            if isinstance(signal, Return):
                return signal
    finally:
        frame.loops.remove(loop)
        m.short -= 1
    return None


def _with(m: Machine, node: Any, scope: Scope) -> Generator[Any, Any, Any]:
    entered = []
    try:
        for item in node.items:
            value, state = enter(m, evaluate(m, item.context_expr, scope))
            entered.append(state)
            if item.optional_vars is not None:
                assign(m, item.optional_vars, value, scope)
        return (yield from yields(m, node.body, scope))
    finally:
        while entered:
            leave(m, entered.pop(), None)
