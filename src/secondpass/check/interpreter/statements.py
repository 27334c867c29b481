# SPDX-License-Identifier: BSD-3-Clause
"""What statements mean. A statement returns None, or a signal that leaves the block it stands in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ..files.block_ends import doomed
from .definitions import define_class, define_function
from .expressions import assign, evaluate
from .guards import raise_, try_, with_
from .loops import MODULUS, is_over, lengthen, turns
from .machine import Loop, Machine, Return, Scope
from .names import import_from, import_statement
from .operators import augmented
from .patterns import fits
from .skipped_turns import counted, jumps
from .unfinished_loops import compared, decided
from .values import Object, Tensor, Unknown, identity, serials

__all__ = ["BREAK", "block", "lean", "stays", "widen"]


BREAK = object()

CONTINUE = object()


def block(m: Machine, body: Sequence[ast.stmt], scope: Scope) -> Any:
    """Executes statements until one of them leaves the block."""
    frame = m.frames[-1]
    file, function = frame.module.file, frame.function
    for node in body:
        m.spend()
        frame.line = node.lineno
        m.ran[file, node.lineno, function] = None
        meaning = _MEANING.get(type(node))
        if meaning is not None:
            signal = meaning(m, node, scope)
            if signal is not None:
                return signal
    return None


def _expression(m: Machine, node: ast.Expr, scope: Scope) -> None:
    if not isinstance(node.value, ast.Constant):
        evaluate(m, node.value, scope)


def _assign(m: Machine, node: ast.Assign, scope: Scope) -> None:
    value = evaluate(m, node.value, scope)
    for target in node.targets:
        assign(m, target, value, scope)


def _annotated(m: Machine, node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        assign(m, node.target, evaluate(m, node.value, scope), scope)


def _augmented(m: Machine, node: ast.AugAssign, scope: Scope) -> None:
    target = node.target
    read: Any = None
    if isinstance(target, ast.Name):
        read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
    elif isinstance(target, ast.Attribute):
        read = ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    else:
        read = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    old = evaluate(m, read, scope)
    value = evaluate(m, node.value, scope)
    m.frames[-1].line = node.lineno
    new = augmented(m, node.op, old, value, ast.unparse(target))
    if m.short and isinstance(target, ast.Name):
        counted(m, scope.vars if target.id in scope.vars else scope.module.globals, target.id, old, new)
    if isinstance(old, Tensor) and new is old and not isinstance(target, ast.Name):
        if isinstance(target, ast.Attribute) and target.attr == "data":
            return
        if isinstance(target, ast.Subscript):
            return
    assign(m, target, new, scope)


def _return(m: Machine, node: ast.Return, scope: Scope) -> Return:
    return Return(None if node.value is None else evaluate(m, node.value, scope))


def lean(m: Machine, node: ast.If) -> bool | None:
    """The only way to go where the other one ends the program or leaves early without training."""
    ends, ends_else, _, _ = m.project.ways(node)
    if ends:
        return False
    if ends_else or m.project.is_cornered(m.frames[-1].module.file, node):
        return True
    return stays(m, node) if m.policy.name in ("no", "yes") else None


def stays(m: Machine, node: ast.If) -> bool | None:
    """The way to go that does not leave early without training, where the other one does."""
    _, _, leaves, leaves_else = m.project.ways(node)
    if leaves and not leaves_else:
        return False
    return True if leaves_else else None


def _if(m: Machine, node: ast.If, scope: Scope) -> Any:
    m.modulus = 0
    test, answer = m.condition(node, scope, lean(m, node), stays(m, node))
    if m.modulus and m.project.acts(node):
        lengthen(m, m.modulus, MODULUS)
    if m.short:
        if m.modulus and not m.project.compares(node):
            compared(m, node, ast.NotEq(), m.remainder, 0, m.modulus)
        decided(m, node, answer, test)
    gathered = m.gathered
    signal = block(m, node.body if answer else node.orelse, scope)
    if m.gathered != gathered and id(node) in m.decided:
        m.decided[id(node)].gathers += 1
    return signal


def _for(m: Machine, node: Any, scope: Scope) -> Any:
    source = evaluate(m, node.iter, scope)
    before = m.cuts
    walk = turns(m, source, node.lineno)
    try:
        for item in walk:
            assign(m, node.target, item, scope)
            signal = block(m, node.body, scope)
            if signal is BREAK:
                break
            if isinstance(signal, Return):
                return signal
        else:
            signal = block(m, node.orelse, scope)
            if signal is not None:
                return signal
    finally:
        walk.close()  # type: ignore[attr-defined]
    if m.cuts > before:
        widen(m, node, scope)
    return None


def _while(m: Machine, node: ast.While, scope: Scope) -> Any:
    loop, frame = Loop(node.lineno), m.frames[-1]
    loop.began, loop.passes = m.steps, len(m.engine.passes)
    frame.loops.append(loop)
    m.short += 1
    signal = later = None
    try:
        while True:
            frame.line = node.lineno
            test = evaluate(m, node.test, scope)
            known = m.known_truth(test)
            # A loop whose end cannot be told is taken to run: see NOTE [ How long a loop is walked ].
            if known is not False and is_over(m, loop):
                later = later or jumps(m, loop)
                loop.cut = m.is_late() or next(later, None) is None
                known = None if loop.cut else m.known_truth(evaluate(m, node.test, scope))
            if known is False or loop.cut:
                m.cuts += loop.cut
                break
            loop.born = serials.last
            m.turn(loop)
            signal = block(m, node.body, scope)
            if signal is BREAK or isinstance(signal, Return):
                break
    finally:
        frame.loops.remove(loop)
        m.short -= 1
    if isinstance(signal, Return):
        return signal
    if loop.cut:
        widen(m, node, scope)
    return None


def widen(m: Machine, node: Any, scope: Scope) -> None:
    """After a loop that was cut short, its counters have values that cannot be told."""
    for name in m.project.counters(node):
        for names in (scope.vars, scope.module.globals):
            if isinstance(names.get(name), (int, float)) and not isinstance(names.get(name), bool):
                names[name] = Unknown(plain=True)
                break
    for owner_name, attr in m.project.counted_attributes(node):
        owner = scope.vars.get(owner_name)
        if isinstance(owner, Object) and isinstance(owner.attrs.get(attr), (int, float)):
            owner.attrs[attr] = Unknown(plain=True)


def _delete(m: Machine, node: ast.Delete, scope: Scope) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            scope.vars.pop(target.id, None)
        elif isinstance(target, ast.Attribute):
            owner = evaluate(m, target.value, scope)
            if isinstance(owner, Object):
                owner.attrs.pop(target.attr, None)
        elif isinstance(target, ast.Subscript):
            owner = evaluate(m, target.value, scope)
            key = evaluate(m, target.slice, scope)
            _delete_item(owner, key)


def _delete_item(owner: Any, key: Any) -> None:
    if isinstance(owner, Object):
        owner = owner.hidden.get("items")
    if isinstance(owner, list) and isinstance(key, (int, slice)):
        try:
            del owner[key]
        except IndexError:
            pass
    elif isinstance(owner, dict):
        try:
            owner.pop(key, None)
        except TypeError:
            pass
    elif isinstance(owner, list):
        owner.loose = True  # type: ignore[attr-defined]


def _match(m: Machine, node: ast.Match, scope: Scope) -> Any:
    subject = evaluate(m, node.subject, scope)
    for case in node.cases:
        lean = False if doomed(case.body) else None
        known = fits(m, case.pattern, subject, scope)
        asked = Unknown(("fits", identity(subject), ast.unparse(case.pattern)), plain=True) if known is None else known
        if m.truth(asked, lean) and (case.guard is None or m.truth(evaluate(m, case.guard, scope), lean)):
            return block(m, case.body, scope)
    return None


_MEANING: dict[type, Callable[[Machine, Any, Scope], Any]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: with_,
    ast.AsyncWith: with_,
    ast.Try: try_,
    ast.Raise: raise_,
    ast.Delete: _delete,
    ast.Import: import_statement,
    ast.ImportFrom: import_from,
    ast.FunctionDef: define_function,
    ast.AsyncFunctionDef: define_function,
    ast.ClassDef: define_class,
    ast.Break: lambda m, node, scope: BREAK,
    ast.Continue: lambda m, node, scope: CONTINUE,
    ast.Match: _match,
}

if hasattr(ast, "TryStar"):
    _MEANING[ast.TryStar] = try_
