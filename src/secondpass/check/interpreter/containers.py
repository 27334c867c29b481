# SPDX-License-Identifier: BSD-3-Clause
"""Lists, dicts, strings and sets: their methods, with elements that may be unknown."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .loops import at_least, gathers, iterate
from .machine import Machine
from .nodes import measured
from .skipped_turns import open_loops
from .values import Dict, List, Member, Native, Object, Tensor, Unknown, identity, length

__all__ = ["contains", "grow", "has_method", "is_concrete", "method"]

_SCALARS = (int, float, str, bytes, bool, complex, type(None), slice, range)


def is_concrete(value: Any) -> bool:
    """Whether a value is wholly known and plain."""
    if isinstance(value, (*_SCALARS, Member)) or value is Ellipsis:
        return True
    if isinstance(value, (List, Dict)) and value.loose:
        return False
    if isinstance(value, (list, tuple, set, frozenset)):
        return len(value) < 1000 and all(is_concrete(v) for v in value)
    if isinstance(value, dict):
        return len(value) < 1000 and all(is_concrete(v) for v in value.values())
    return False


def contains(m: Machine, op: ast.cmpop, item: Any, box: Any) -> Any:
    """`item in box` and `item not in box`."""
    found: Any = None
    if isinstance(box, Object):
        own = box.cls.find("__contains__")
        if own is not None:
            return _found(m, op, m.known_truth(m.call(own[0], [box, item], {})), item, box)
        box = box.hidden.get("items", box)
    if isinstance(box, str):
        found = item in box if isinstance(item, str) else None
    elif isinstance(box, (list, tuple, set, frozenset, dict)) and is_concrete(item):
        try:
            found = any(is_concrete(v) and v == item for v in box)
        except TypeError:
            found = None
        if not found and (length(box) is None or not all(is_concrete(v) for v in box)):
            found = None
    elif isinstance(box, (list, tuple)) and any(v is item for v in box):
        found = True
    elif isinstance(box, set) and not isinstance(item, Unknown):
        found = item in box
    elif isinstance(box, Dict) and length(box) == 0:
        found = False
    elif isinstance(box, Dict) and any(_has_history(v) for v in box.others):
        # A cache of graphs: what is asked for once is asked for again.
        return Unknown(("likely", isinstance(op, ast.In), identity(box)), plain=True)
    return _found(m, op, found, item, box)


def _found(m: Machine, op: ast.cmpop, found: Any, item: Any, box: Any) -> Any:
    if found is None:
        key: Any = ("in", identity(item), identity(box))
        newest = measured((item, box))
        key = ("measured", newest, key) if newest else key
        return Unknown(("not", key) if isinstance(op, ast.NotIn) else key, plain=True)
    return found if isinstance(op, ast.In) else not found


def grow(m: Machine, box: Any, value: Any) -> None:
    """Notes that something was put into a container."""
    m.changes.append(box.serial)
    if m.short > box.depth:
        if isinstance(box, List):
            box.grows_in(open_loops(m)[: m.short - box.depth])
        else:
            box.loose = True
    if isinstance(value, (List, Dict)):
        value.depth = min(value.depth, box.depth)  # it lives as long as what it is in
    history = _has_history(value)
    if box.place is None or history:
        box.place = m.place()
    if history and m.short > box.depth:
        at_least(m, 8)
        gathers(m, box.depth)


def _has_history(value: Any, depth: int = 0) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_has_history(v, depth) for v in value)
    if isinstance(value, dict):
        return any(_has_history(v, depth) for v in value.values())
    if isinstance(value, Object):
        return depth < 2 and any(_has_history(v, depth + 1) for v in value.attrs.values() if not is_concrete(v))
    return isinstance(value, (Tensor, Unknown)) and value.node is not None


def _append(m: Machine, box: List, value: Any = None, *_: Any) -> None:
    if box.limit is not None and len(box) >= box.limit:
        del box[0]
    box.append(value)
    grow(m, box, value)


def _extend(m: Machine, box: List, values: Any = (), *_: Any) -> None:
    items = iterate(m, List(values) if values is box else values)
    if items.length is None:
        box.loose = True
    for index, value in enumerate(items):
        if items.length is None and index >= 3:
            break
        _append(m, box, value)


def _pop(m: Machine, box: List, index: Any = -1, *_: Any) -> Any:
    m.changes.append(box.serial)
    if box.kind == "queue" and index == 0 and box:
        return list.pop(box, 0)
    try:
        return list.pop(box, index if isinstance(index, int) else -1)
    except IndexError:
        return Unknown()


def _insert(m: Machine, box: List, index: Any = 0, value: Any = None, *_: Any) -> None:
    box.insert(index if isinstance(index, int) else 0, value)
    grow(m, box, value)


def _remove(m: Machine, box: List, value: Any = None, *_: Any) -> None:
    for index, item in enumerate(box):
        if item is value or (is_concrete(item) and is_concrete(value) and item == value):
            del box[index]
            return
    box.loose = True


def _index(m: Machine, box: Any, value: Any = None, *_: Any) -> Any:
    if is_concrete(box) and is_concrete(value) and value in box:
        return list(box).index(value)
    return Unknown(plain=True)


def _clear(m: Machine, box: Any, *_: Any) -> None:
    m.changes.append(box.serial)
    box.clear()
    box.others = []
    box.loose = False


def _copy(m: Machine, box: Any, *_: Any) -> Any:
    made = List(box, m.short) if isinstance(box, list) else Dict(box, m.short)
    made.loose, made.place = getattr(box, "loose", False), getattr(box, "place", None)
    if isinstance(box, Dict) and isinstance(made, Dict):
        made.default, made.others = box.default, list(box.others)
    return made


def _popleft(m: Machine, box: List, *_: Any) -> Any:
    m.changes.append(box.serial)
    return list.pop(box, 0) if box else Unknown()


def _sort(m: Machine, box: List, *_: Any, **__: Any) -> None:
    if is_concrete(box):
        try:
            list.sort(box)
        except TypeError:
            pass


def _reverse(m: Machine, box: List, *_: Any) -> None:
    list.reverse(box)


def _extend_left(m: Machine, box: List, values: Any = (), *_: Any) -> None:
    many = List(depth=m.short)
    _extend(m, many, values)
    for value in many:
        _insert(m, box, 0, value)
    box.loose = box.loose or many.loose


def _rotate(m: Machine, box: List, by: Any = 1, *_: Any) -> None:
    if isinstance(by, int) and not box.loose and box:
        by %= len(box)
        box[:] = [*box[-by:], *box[:-by]] if by else list(box)
    else:
        box.loose = True


_LIST: dict[str, Callable[..., Any]] = {
    "append": _append, "extend": _extend, "pop": _pop, "insert": _insert, "remove": _remove, "index": _index,
    "clear": _clear, "copy": _copy, "popleft": _popleft, "sort": _sort, "reverse": _reverse,
    "appendleft": lambda m, box, value=None: _insert(m, box, 0, value),
    "extendleft": _extend_left, "rotate": _rotate,
    "count": lambda m, box, *_: Unknown(plain=True),
    "__setitem__": lambda m, box, key, value: m.set_item(box, key, value),
}  # fmt: skip


def _get(m: Machine, box: Dict, key: Any = None, default: Any = None, *_: Any) -> Any:
    if is_concrete(key):
        try:
            if key in box:
                return box[key]
        except TypeError:
            return Unknown()
        if box.loose or box.others:
            return Unknown()
        return default
    return next(iter(box.others), Unknown())


def _setdefault(m: Machine, box: Dict, key: Any = None, default: Any = None, *_: Any) -> Any:
    if is_concrete(key) and key in box:
        return box[key]
    if not is_concrete(key) and box.others:
        return box.others[-1]
    m.set_item(box, key, default)
    return default


def _update(m: Machine, box: Dict, other: Any = None, *_: Any, **more: Any) -> None:
    if isinstance(other, dict):
        for key, value in other.items():
            m.set_item(box, key, value)
        if isinstance(other, Dict):
            box.loose = box.loose or other.loose
            box.others += other.others
    elif other is not None:
        items = iterate(m, other)
        if items.length is None:
            box.loose = True
        for index, pair in enumerate(items):
            if items.length is None and index >= 3:
                break
            known = isinstance(pair, (tuple, list)) and len(pair) == 2
            key, value = pair if known else (Unknown(), pair if isinstance(pair, Unknown) else Unknown())
            m.set_item(box, key, value)
    for key, value in more.items():
        m.set_item(box, key, value)


def _dict_pop(m: Machine, box: Dict, key: Any = None, *default: Any) -> Any:
    if is_concrete(key) and key in box:
        return dict.pop(box, key)
    return default[0] if default and not box.loose else Unknown()


def _values(box: Dict, pairs: list[Any]) -> List:
    made = List(pairs)
    made.loose = box.loose or bool(box.others)
    return made


_DICT: dict[str, Callable[..., Any]] = {
    "get": _get, "setdefault": _setdefault, "update": _update, "pop": _dict_pop, "clear": _clear, "copy": _copy,
    "__setitem__": lambda m, box, key, value: m.set_item(box, key, value),
    "keys": lambda m, box: _values(box, list(box)),
    "values": lambda m, box: _values(box, [*box.values(), *box.others]),
    "items": lambda m, box: _values(box, [*box.items(), *((Unknown(plain=True), v) for v in box.others)]),
}  # fmt: skip


def _names(m: Machine, box: dict[str, Any], name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Methods of `globals()`, `vars(x)` and `x.__dict__`: they change the names themselves."""
    m.changes.append(-1)
    if name == "update":
        for source in (*args, kwargs):
            if isinstance(source, dict):
                box.update({k: v for k, v in source.items() if isinstance(k, str)})
        return None
    copy = Dict(box)
    found = _DICT[name](m, copy, *args, **kwargs)
    if name in ("pop", "setdefault", "clear"):
        box.clear()
        box.update(copy)
    return found


def has_method(owner: Any, name: str) -> bool:
    """Whether a list or dict has a method of ours."""
    return name in (_LIST if isinstance(owner, list) else _DICT)


def _first_node(owner: Any) -> Any:
    values = owner.values() if isinstance(owner, dict) else owner if isinstance(owner, (list, tuple)) else ()
    return next((v.node for v in values if isinstance(v, (Tensor, Unknown)) and v.node is not None), None)


def method(m: Machine, owner: Any, name: str) -> Any:
    """A method of a built-in value."""
    if isinstance(owner, List) and name in _LIST:
        act = _LIST[name]
        return Native(name, lambda m, args, kwargs: act(m, owner, *args, **kwargs))
    if isinstance(owner, List) and name == "maxlen":
        return Unknown(plain=True) if owner.limit is None and owner.forgets else owner.limit
    if isinstance(owner, set) and name in ("add", "discard", "remove"):
        change = owner.add if name == "add" else owner.discard
        return Native(name, lambda m, args, kwargs: change(*args) if args else None)
    if isinstance(owner, Dict) and name in _DICT:
        act = _DICT[name]
        return Native(name, lambda m, args, kwargs: act(m, owner, *args, **kwargs))
    if isinstance(owner, dict) and not isinstance(owner, Dict) and name in _DICT:
        return Native(name, lambda m, args, kwargs: _names(m, owner, name, args, kwargs))
    real = getattr(owner, name, None)
    if real is None:
        # Not what we take it for: its methods do what those of an unknown value may do.
        return Unknown(plain=is_concrete(owner), node=_first_node(owner)).attribute(name)
    if not callable(real):
        return real

    def act_really(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if not (is_concrete(list(args)) and is_concrete(kwargs) and is_concrete(owner)):
            return Unknown(plain=True)
        try:
            found = real(*args, **kwargs)
        except Exception:  # whatever the program's own values do not allow
            return Unknown(plain=True)
        if isinstance(found, str) and len(found) > 10_000:
            return Unknown(plain=True)
        return List(found, m.short) if isinstance(found, list) else found

    return Native(name, act_really)
