# SPDX-License-Identifier: BSD-3-Clause
"""Operators on values that may be tensors, unknown, or plain."""

from __future__ import annotations

import ast
import math
import operator
from typing import Any

from .containers import is_concrete, method
from .loops import lengthen
from .machine import ASKED, Machine
from .nodes import measured, where_lost
from .skipped_turns import open_loops
from .values import Class, Dict, List, Object, Tensor, Unknown, identity

__all__ = ["augmented", "binary", "compare", "offset", "to_the_end", "unary"]

_BINARY: dict[type, tuple[str, Any]] = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv), ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("remainder", operator.mod), ast.Pow: ("pow", operator.pow), ast.MatMult: ("matmul", operator.matmul),
    ast.BitAnd: ("bitwise_and", operator.and_), ast.BitOr: ("bitwise_or", operator.or_),
    ast.BitXor: ("bitwise_xor", operator.xor), ast.LShift: ("lshift", operator.lshift),
    ast.RShift: ("rshift", operator.rshift),
}  # fmt: skip

_DUNDER = {
    "div": "truediv", "floor_divide": "floordiv", "remainder": "mod", "bitwise_and": "and", "bitwise_or": "or",
    "bitwise_xor": "xor",
}  # fmt: skip

_COMPARE: dict[type, tuple[str, Any]] = {
    ast.Eq: ("eq", operator.eq), ast.NotEq: ("ne", operator.ne), ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le), ast.Gt: ("gt", operator.gt), ast.GtE: ("ge", operator.ge),
}  # fmt: skip

_MIRROR = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


def binary(m: Machine, op: ast.operator, left: Any, right: Any) -> Any:
    """`left op right`"""
    name, act = _BINARY[type(op)]
    left, right = m.as_tensor(left), m.as_tensor(right)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        other = left if isinstance(left, Object) else right
        if isinstance(other, Object) and other.cls.find(
            f"__{'r' if other is right else ''}{_DUNDER.get(name, name)}__"
        ):
            return _by_method(m, name, left, right)
        if isinstance(other, Object) and other.cls.derives("torch.nn.Module"):
            return m.lack("TypeError")  # modules have no arithmetic: `criterion * weight`
        return m.operate(name, [left, right], {})
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        if name == "remainder" and isinstance(right, int):
            m.modulus, m.remainder = right, left % right if right else 0
            lengthen(m, right)
        return _really(act, left, right)
    if isinstance(left, (Object, Class)) or isinstance(right, (Object, Class)):
        return _by_method(m, name, left, right)
    if isinstance(left, list) and isinstance(right, list) and name == "add":
        made = List([*left, *right], m.short)
        made.loose = getattr(left, "loose", False) or getattr(right, "loose", False)
        made.of = getattr(left, "of", ()) + getattr(right, "of", ())
        made.place = getattr(left, "place", None) or getattr(right, "place", None)
        return made
    if isinstance(left, list) and isinstance(right, int) and name == "mul" and len(left) * right < 200:
        return List(list(left) * right, m.short)
    if isinstance(left, tuple) and isinstance(right, tuple) and name == "add":
        return left + right
    if isinstance(left, dict) and isinstance(right, dict) and name == "bitwise_or":
        return Dict({**left, **right}, m.short)
    if is_concrete(left) and is_concrete(right):
        return _really(act, left, right)
    nodes = [v.node for v in (left, right) if isinstance(v, Unknown) and v.node is not None]
    plain = all((isinstance(v, Unknown) and v.plain) or is_concrete(v) for v in (left, right))
    # The same sum of the same unknown numbers is the same number: conditions on it get the same answer.
    number = Unknown(None if nodes else _computed(name, left, right), plain, nodes[0] if nodes else None)
    number.lost = where_lost((left, right))
    return number


def _computed(name: str, left: Any, right: Any) -> Any:
    """The identity of a number that is computed from unknown ones; None where it would grow without end."""
    keys = tuple(v.key if isinstance(v, Unknown) else repr(v)[:40] for v in (left, right))
    if any(_depth(k) > 4 for k in keys):
        newest = measured((left, right))
        return ("measured", newest, Unknown().key) if newest else None
    return name, *keys


def _depth(key: Any) -> int:
    return 1 + max(map(_depth, key), default=0) if isinstance(key, tuple) else 0


def _really(act: Any, left: Any, right: Any) -> Any:
    try:
        if act is operator.pow and abs(right) > 64:
            return Unknown(plain=True)
        if act is operator.lshift and right > 64:
            return Unknown(plain=True)
        found = act(left, right)
    except Exception:  # whatever the program's own values do not allow
        return Unknown(plain=True)
    if isinstance(found, (str, list, tuple)) and len(found) > 10_000:
        return Unknown(plain=True)
    return found


def _by_method(m: Machine, name: str, left: Any, right: Any) -> Any:
    dunder = _DUNDER.get(name, name)
    if isinstance(left, Object):
        found = left.cls.find(f"__{dunder}__")
        if found:
            return m.call(found[0], [left, right], {})
    if isinstance(right, Object):
        found = right.cls.find(f"__r{dunder}__")
        if found:
            return m.call(found[0], [right, left], {})
    return Unknown()


def augmented(m: Machine, op: ast.operator, left: Any, right: Any, target: str) -> Any:
    """`left op= right`: in place where Python would change the object itself."""
    if isinstance(left, Tensor):
        return m.operate_in_place(_BINARY[type(op)][0], left, [right], target)
    if isinstance(left, List) and isinstance(op, ast.Add):
        method(m, left, "extend").act(m, [right], {})
        return left
    if isinstance(left, Object):
        found = left.cls.find(f"__i{_DUNDER.get(_BINARY[type(op)][0], _BINARY[type(op)][0])}__")
        if found:
            return m.call(found[0], [left, right], {})
    return binary(m, op, left, right)


def unary(m: Machine, op: ast.unaryop, value: Any) -> Any:
    """`op value`"""
    if isinstance(op, ast.Not):
        known = m.known_truth(value)
        if known is not None:
            return not known
        key = m.question(value) if isinstance(value, Tensor) else identity(value)
        if isinstance(key, tuple) and key and key[0] == "not":
            return Unknown(key[1], plain=True)
        return Unknown(("not", key), plain=True)
    if isinstance(value, Object):
        found = value.cls.find({ast.USub: "__neg__", ast.Invert: "__invert__", ast.UAdd: "__pos__"}[type(op)])
        return m.call(found[0], [value], {}) if found else Unknown()
    if isinstance(value, Tensor):
        names = {ast.USub: "neg", ast.Invert: "bitwise_not"}
        return m.operate(names[type(op)], [value], {}) if type(op) in names else value
    if isinstance(value, (int, float)):
        if isinstance(op, ast.Invert):
            return ~int(value)
        return -value if isinstance(op, ast.USub) else +value
    if isinstance(value, Unknown):
        newest = measured((value,))
        number = Unknown(("measured", newest, "-", value.key) if newest else None, value.plain, value.node)
        number.lost = value.lost
        return number
    return Unknown()


def compare(m: Machine, op: ast.cmpop, left: Any, right: Any) -> Any:
    """`left op right` for everything but `in`."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        return _identity(left, right, isinstance(op, ast.Is))
    name, act = _COMPARE[type(op)]
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        made = m.operate(name, [left, right], {})
        if isinstance(made, Tensor) and name in _MIRROR:
            made.attrs = {ASKED: _question(name, left, right, _newest(left, right))}
        return made
    if is_concrete(left) and is_concrete(right):
        try:
            return act(left, right)
        except TypeError:
            return Unknown(plain=True)
    if isinstance(left, Object) or isinstance(right, Object):
        if name in ("eq", "ne") and not (isinstance(left, Object) and left.cls.find("__eq__")):
            if left is right:
                return name == "eq"
            return (name == "ne") if not isinstance(left, Unknown) and not isinstance(right, Unknown) else Unknown()
    apart = _apart(left, right)
    if apart is not None:
        return act(apart, 0)
    thrown = _thrown(name, act, left, right)
    if thrown is not None:
        return thrown
    newest = _newest(left, right)
    limit = right if isinstance(left, Unknown) else left
    if newest and isinstance(limit, float) and math.isinf(limit):
        return act(0.0, limit) if limit is right else act(limit, 0.0)
    return Unknown(_question(name, left, right, newest), plain=True)


def _newest(left: Any, right: Any) -> int:
    """When the newest came up of what two sides were computed from: 0 where one may be a limit that is never reached."""
    sides = [measured((side,)) for side in (left, right)]
    return max(sides) if all(n or is_concrete(side) for n, side in zip(sides, (left, right), strict=True)) else 0


def _question(name: str, left: Any, right: Any, newest: int) -> Any:
    """The identity of a comparison: the same whichever way round it is written."""
    said = [repr(v if is_concrete(v) else identity(v))[:160] for v in (left, right)]
    keys = sorted(said)
    if name in ("eq", "ne"):
        known = next((v for v in (left, right) if is_concrete(v)), None)
        other = right if known is left else left
        same = ("is", repr(other.key)[:160], known) if _is_value(known, other) else ("eq", *keys)
        return same if name == "eq" else ("not", same)
    if keys != said:
        name = _MIRROR[name]
    negative = name in ("le", "ge") and all(isinstance(v, (Unknown, Tensor)) or is_concrete(v) for v in (left, right))
    asked: Any = (({"le": "gt", "ge": "lt"}[name] if negative else name), *keys)
    asked = ("measured", newest, asked) if newest else asked
    return ("not", asked) if negative else asked


def _thrown(name: str, act: Any, left: Any, right: Any) -> Any:
    """A number drawn between 0 and 1, and compared: on which side it is can be told of no single draw."""
    drawn = [isinstance(v, Unknown) and isinstance(v.key, tuple) and v.key[:1] == ("drawn",) for v in (left, right)]
    if name in ("eq", "ne") or drawn[0] == drawn[1]:
        return None
    limit = right if drawn[0] else left
    if not isinstance(limit, (int, float)):
        return None  # it may be one that is never reached
    if not 0 < limit < 1:
        return act(0.5, limit) if drawn[0] else act(limit, 0.5)
    return Unknown(("thrown", name, identity(left), identity(right)), plain=True)


def _apart(left: Any, right: Any) -> float | None:
    """By how much two unknown numbers differ, where one was computed from the other, or both from a third."""
    if not (isinstance(left, Unknown) and isinstance(right, Unknown) and left.plain and right.plain):
        return None
    (one, more), (other, less) = offset(left.key), offset(right.key)
    return more - less if one == other and (more or less) else None


def offset(key: Any) -> tuple[Any, float]:
    """The unknown number that a number was computed from by adding known ones, and their sum."""
    total = 0.0
    while isinstance(key, tuple) and len(key) == 3 and key[0] in ("add", "sub"):
        try:
            number = float(key[2])
        except (TypeError, ValueError):
            break
        total += number if key[0] == "add" else -number
        key = key[1]
    return key, total


def to_the_end(m: Machine, op: ast.cmpop, left: Any, right: Any) -> bool | None:
    """`left op right` for the number of a turn and that of all turns of its loop, which cannot be told: see NOTE [ How long a
    loop is walked ], 8."""
    if type(op) not in _COMPARE or (type(left) is int) == (type(right) is int):
        return None
    number, limit = (left, right) if type(left) is int else (right, left)
    if not isinstance(limit, Unknown) or not limit.plain:
        return None
    key, more = offset(limit.key)
    loop = next((o for o in open_loops(m) if o.total is not None and o.total[0] == key), None)
    if loop is None or loop.total is None:
        return None
    act, sign = _COMPARE[type(op)][1], 1 if number is right else -1
    nearest = 1 + loop.index - loop.total[1] + more - number  # how far they are apart in the last turn
    if loop.last:
        return bool(act(sign * nearest, 0))
    if nearest < 0:
        return None
    loop.asked = loop.asked or act(sign * nearest, 0) != act(sign, 0)
    return bool(act(sign, 0))


def _is_value(known: Any, other: Any) -> bool:
    return isinstance(known, (int, float, str)) and isinstance(other, Unknown)


def _identity(left: Any, right: Any, same: bool) -> Any:
    if left is right:
        return same
    for value, other in ((left, right), (right, left)):
        if other is None and isinstance(value, Unknown):
            if isinstance(value.key, tuple) and value.key[:1] == ("batch",):
                return not same
            key = ("none", value.key)
            return Unknown(key if same else ("not", key), plain=True)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return Unknown(plain=True)
    if isinstance(left, (bool, int, str, float)) and isinstance(right, (bool, int, str, float)):
        return (left == right and type(left) is type(right)) == same
    return not same
