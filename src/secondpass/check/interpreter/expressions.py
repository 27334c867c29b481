# SPDX-License-Identifier: BSD-3-Clause
"""What expressions mean: one function per kind of syntax node."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .attributes import get_attribute, set_attribute
from .calls import call_expression
from .comprehensions import dict_comprehension, generator_expression, list_comprehension, set_comprehension
from .containers import contains, is_concrete
from .items import get_item, set_item
from .iterables import some
from .loops import at_least_so_many, iterate, so_far
from .machine import Machine, Scope, line_of
from .names import bind, look_up
from .operators import binary, compare, to_the_end, unary
from .unfinished_loops import compared
from .values import Dict, Function, List, Object, Stream, Tensor, Unknown

__all__ = ["assign", "evaluate", "make_function", "many"]


def evaluate(m: Machine, node: ast.expr, scope: Scope) -> Any:
    """The value of an expression."""
    return _MEANING[type(node)](m, node, scope)


def many(m: Machine, nodes: list[ast.expr], scope: Scope) -> list[Any]:
    """The values of a display's elements, with `*` spread out."""
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            value = evaluate(m, node.value, scope)
            items = iterate(m, value)
            if isinstance(value, Stream) and value.fields.get("generator") and items.length is None:
                taken, whole = some(m, value, 400)
                found.extend(taken if whole else [*taken, Unknown()])
            elif items.length is None:
                found.extend(list(value)[:8] if isinstance(value, List) else ())
                found.append(Unknown())  # and perhaps more of them
            else:
                found.extend(items)
        else:
            found.append(evaluate(m, node, scope))
    return found


def _constant(m: Machine, node: ast.Constant, scope: Scope) -> Any:
    return node.value


def _name(m: Machine, node: ast.Name, scope: Scope) -> Any:
    return look_up(m, node.id, scope)


def _attribute(m: Machine, node: ast.Attribute, scope: Scope) -> Any:
    owner = evaluate(m, node.value, scope)
    m.frames[-1].line = node.end_lineno or node.lineno
    return get_attribute(m, owner, node.attr, node)


def _subscript(m: Machine, node: ast.Subscript, scope: Scope) -> Any:
    owner = evaluate(m, node.value, scope)
    key = evaluate(m, node.slice, scope)
    m.frames[-1].line = node.lineno
    return get_item(m, owner, key)


def _slice(m: Machine, node: ast.Slice, scope: Scope) -> Any:
    parts = [None if p is None else evaluate(m, p, scope) for p in (node.lower, node.upper, node.step)]
    if all(p is None or isinstance(p, int) for p in parts):
        return slice(*parts)
    return Unknown(plain=True)


def _binary(m: Machine, node: ast.BinOp, scope: Scope) -> Any:
    left = evaluate(m, node.left, scope)
    right = evaluate(m, node.right, scope)
    m.frames[-1].line = node.lineno
    return binary(m, node.op, left, right)


def _unary(m: Machine, node: ast.UnaryOp, scope: Scope) -> Any:
    value = evaluate(m, node.operand, scope)
    return unary(m, node.op, value)


def _boolean(m: Machine, node: ast.BoolOp, scope: Scope) -> Any:
    stop_at = isinstance(node.op, ast.Or)
    value: Any = None
    for part in node.values:
        value = evaluate(m, part, scope)
        if part is not node.values[-1] and m.truth(value) == stop_at:
            return value
    return value


def _compare(m: Machine, node: ast.Compare, scope: Scope) -> Any:
    left = evaluate(m, node.left, scope)
    value: Any = True
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = evaluate(m, right_node, scope)
        m.frames[-1].line = node.lineno
        if m.short:
            left, right = so_far(m, left, right), so_far(m, right, left)
            remainder = isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Mod)
            compared(m, node, op, left, right, m.modulus if remainder else 0)
        left, right = at_least_so_many(op, left, right)
        moves = m.short and not any(isinstance(n, ast.Constant) for n in (node.left, right_node))
        value = to_the_end(m, op, left, right) if moves else None
        if value is None:
            value = contains(m, op, left, right) if isinstance(op, (ast.In, ast.NotIn)) else compare(m, op, left, right)
        if len(node.ops) > 1 and not m.truth(value):
            return value
        left = right
    return value


def _if(m: Machine, node: ast.IfExp, scope: Scope) -> Any:
    _, answer = m.condition(node, scope)
    return evaluate(m, node.body if answer else node.orelse, scope)


def _tuple(m: Machine, node: ast.Tuple, scope: Scope) -> Any:
    return tuple(many(m, node.elts, scope))


def _list(m: Machine, node: ast.List, scope: Scope) -> Any:
    return placed(m, List(many(m, node.elts, scope), m.short))


def placed(m: Machine, made: List) -> List:
    """Notes where a container was made."""
    if made:
        made.place = m.place()
    return made


def _set(m: Machine, node: ast.Set, scope: Scope) -> Any:
    values = many(m, node.elts, scope)
    return set(values) if is_concrete(values) else Unknown(plain=True)


def _dict(m: Machine, node: ast.Dict, scope: Scope) -> Any:
    made = Dict(depth=m.short)
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = evaluate(m, value_node, scope)
        if key_node is None:
            if isinstance(value, dict):
                made.update(value)
            else:
                made.loose = True
            continue
        key = evaluate(m, key_node, scope)
        set_item(m, made, key, value)
    return made


def _lambda(m: Machine, node: ast.Lambda, scope: Scope) -> Any:
    return make_function(m, node, scope, "<lambda>")


def make_function(m: Machine, node: Any, scope: Scope, name: str) -> Function:
    """A function value with its defaults evaluated."""
    made = Function(node, scope.module, scope, name)
    args = node.args
    made.defaults = [evaluate(m, d, scope) for d in args.defaults]
    made.kwdefaults = {
        a.arg: evaluate(m, d, scope) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None
    }
    return made


def _text(m: Machine, node: ast.JoinedStr, scope: Scope) -> Any:
    parts: list[Any] = [evaluate(m, p, scope) for p in node.values]
    if all(isinstance(p, str) for p in parts):
        return "".join(parts)
    return Unknown(plain=True)


def _formatted(m: Machine, node: ast.FormattedValue, scope: Scope) -> Any:
    value = evaluate(m, node.value, scope)
    if isinstance(value, (str, int)) and node.conversion == -1 and node.format_spec is None:
        return str(value)
    return Unknown(plain=True)


def _named(m: Machine, node: ast.NamedExpr, scope: Scope) -> Any:
    value = evaluate(m, node.value, scope)
    bind(scope, node.target.id, value)
    return value


def _await(m: Machine, node: ast.Await, scope: Scope) -> Any:
    return evaluate(m, node.value, scope)


def _yield(m: Machine, node: Any, scope: Scope) -> Any:
    given = m.frames[-1].given
    if id(node) in given:
        return given.pop(id(node))
    # A yield that is not always come to: what is sent in cannot be told.
    if node.value is not None:
        evaluate(m, node.value, scope)
    return Unknown()


def _call(m: Machine, node: ast.Call, scope: Scope) -> Any:
    m.spend()
    function = evaluate(m, node.func, scope)
    m.frames[-1].line = line_of(node)
    return call_expression(m, function, node, scope)


def _starred(m: Machine, node: ast.Starred, scope: Scope) -> Any:
    return Unknown()


def assign(m: Machine, target: ast.expr, value: Any, scope: Scope) -> None:
    """Binds a target to a value."""
    if isinstance(target, ast.Name):
        if isinstance(value, Tensor) and not value.name and value.leaf is not None:
            value.leaf.name = value.leaf.name or target.id
        elif isinstance(value, Object) and "leaves" in value.hidden:
            m.name_optimizer(value, target.id)
        bind(scope, target.id, value, m)
    elif isinstance(target, ast.Attribute):
        if isinstance(value, Object) and "leaves" in value.hidden:
            m.name_optimizer(value, ast.unparse(target))
        set_attribute(m, evaluate(m, target.value, scope), target.attr, value, target)
    elif isinstance(target, ast.Subscript):
        owner = evaluate(m, target.value, scope)
        key = evaluate(m, target.slice, scope)
        m.frames[-1].line = target.lineno
        set_item(m, owner, key, value, target)
    elif isinstance(target, ast.Starred):
        assign(m, target.value, value, scope)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part, item in zip(target.elts, _unpacked(m, target.elts, value), strict=True):
            assign(m, part, item, scope)


def _unpacked(m: Machine, targets: list[ast.expr], value: Any) -> list[Any]:
    count = len(targets)
    star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    items = iterate(m, value)
    if star is None:
        found = []
        for item in items:
            found.append(item)
            if len(found) == count:
                break
        return found + [Unknown(node=getattr(value, "node", None)) for _ in range(count - len(found))]
    everything: list[Any] = []
    whole = True
    if isinstance(value, Stream) and value.fields.get("generator") and items.length is None:
        everything, whole = some(m, value, 40)
    elif items.length is None:
        return [Unknown(node=getattr(value, "node", None)) for _ in range(count)]
    everything = everything or list(items)
    tail = count - star - 1
    head, rest = everything[:star], everything[star : len(everything) - tail]
    last = everything[len(everything) - tail :]
    found = [*head, List(rest, m.short), *last]
    found[star].loose = not whole
    return found if len(found) == count else [Unknown() for _ in range(count)]


_MEANING: dict[type, Callable[[Machine, Any, Scope], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _if,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.Lambda: _lambda,
    ast.ListComp: list_comprehension,
    ast.SetComp: set_comprehension,
    ast.DictComp: dict_comprehension,
    ast.GeneratorExp: generator_expression,
    ast.JoinedStr: _text,
    ast.FormattedValue: _formatted,
    ast.NamedExpr: _named,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.Call: _call,
    ast.Starred: _starred,
}
