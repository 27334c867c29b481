# SPDX-License-Identifier: BSD-3-Clause
"""`x[key]`: reading and writing elements of containers and objects."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from ...autograd.lifecycle import reach
from .containers import grow, is_concrete
from .loops import alike
from .machine import Machine
from .values import Class, Dict, External, Function, List, Object, Stream, Tensor, Unknown, length

__all__ = ["get_item", "set_item"]


def get_item(m: Machine, owner: Any, key: Any) -> Any:
    """`owner[key]`"""
    if isinstance(owner, Tensor):
        return m.tensor_item(owner, key)
    if isinstance(owner, Object):
        found = owner.cls.find("__getitem__")
        if found:
            return m.call(found[0], [owner, key], {})
        items = owner.hidden.get("items")
        if items is None:
            return Unknown()
        if isinstance(items, Dict) and is_concrete(key) and key not in items:
            missing = owner.cls.find("__missing__")
            if missing:
                return m.call(missing[0], [owner, key], {})
        owner = items
    if isinstance(owner, Dict):
        return _from_dict(m, owner, key)
    if isinstance(owner, dict):  # the names of a module or the attributes of an object
        return owner[key] if isinstance(key, str) and key in owner else Unknown()
    if isinstance(owner, (list, tuple)):
        return _from_sequence(m, owner, key)
    if isinstance(owner, (str, bytes, range)) and isinstance(key, (int, slice)):
        try:
            return owner[key]
        except (IndexError, ValueError):
            return Unknown(plain=True)
    if isinstance(owner, (Class, External)):
        members = owner.attrs.get("__members__") if isinstance(owner, Class) else None
        return owner if members is None else members.get(key, Unknown()) if isinstance(key, str) else Unknown()
    if isinstance(owner, Unknown):
        if isinstance(key, (str, int)):
            return m.member(owner, f"[{key!r}]") or owner.attribute(f"[{key!r}]")
        part = Unknown(plain=owner.plain, node=owner.node)
        part.lost = owner.lost
        return part
    if isinstance(owner, Stream) and isinstance(key, int) and not owner.fields:
        # Views of one tensor, as many as there may be: they differ in nothing that is known.
        return next(iter(owner.make()), Unknown())
    if owner is None:
        return m.lack("TypeError")
    return Unknown(plain=isinstance(owner, (str, bytes, range)))


def _from_dict(m: Machine, owner: Dict, key: Any) -> Any:
    if is_concrete(key):
        try:
            if key in owner:
                return owner[key]
        except TypeError:
            return Unknown()
        if owner.default is not None:
            made = m.call(owner.default, [], {})
            set_item(m, owner, key, made)
            return made
        if not owner.loose and not owner.others:
            m.note_lack(repr(key))
        return Unknown()
    if owner.default is not None and not owner.others:
        set_item(m, owner, key, m.call(owner.default, [], {}))
    if owner.others:
        return owner.others[-1]
    # Which of the values it is cannot be told; with a single kind of value any of them stands for it.
    values = list(owner.values())
    _loosen(values)
    return values[-1] if values and all(isinstance(v, Function) for v in values) else Unknown()


def _loosen(values: Iterable[Any]) -> None:
    """Something may be put into one of these, and it cannot be told into which."""
    for value in values:
        if isinstance(value, (List, Dict)):
            value.loose = True


def _from_sequence(m: Machine, owner: Any, key: Any) -> Any:
    size = length(owner)
    if isinstance(key, (int, slice)):
        try:
            found = owner[key]
        except (IndexError, ValueError):
            further = _further(owner) if size is None and isinstance(key, int) and key > 0 else []
            return further[-1] if further else Unknown()
        if isinstance(key, slice) and isinstance(owner, list):
            if not found and size is None and key.start and key.step is None:
                found = _further(owner)
            made = List(found, m.short)
            made.loose = size is None
            return made
        return found
    if isinstance(owner, List) and owner.others and not isinstance(key, (int, slice)):
        return one_of(owner.others)  # what is put there by turns is what is met there by turns
    if isinstance(key, Unknown) and owner and all(isinstance(v, Tensor) for v in owner):
        return Unknown(node=owner[-1].node)
    _loosen(owner)
    return Unknown(plain=all(is_concrete(v) for v in owner))


def one_of(values: list[Any]) -> Any:
    """The last of some values, where it can stand for them all: tensors with the same leaves behind them."""
    last = values[-1]
    if not (isinstance(last, Tensor) and all(isinstance(v, Tensor) and v.needs is last.needs for v in values)):
        return Unknown()
    behind = [{n for n in reach([v.edge])[0] if n.leaf is not None} if v.edge is not None else set() for v in values]
    return last if all(leaves == behind[0] for leaves in behind) else Unknown(node=last.node)


def _further(owner: Any) -> list[Any]:
    """What data has further on than was looked at: more of its kind. What may have history is not made up."""
    found = [alike(item) for item in owner]
    return found if all(item is not None for item in found) else []


def set_item(m: Machine, owner: Any, key: Any, value: Any, node: ast.AST | None = None) -> None:
    """`owner[key] = value`"""
    if isinstance(owner, Tensor):
        m.set_tensor_item(owner, value, node)
        return
    if isinstance(owner, Object):
        found = owner.cls.find("__setitem__")
        if found:
            m.call(found[0], [owner, key, value], {})
            return
        items = owner.hidden.get("items")
        if items is None:
            return
        owner = items
    m.changes.append(getattr(owner, "serial", -1))
    if isinstance(owner, Dict):
        if is_concrete(key):
            try:
                owner[key] = value
            except TypeError:
                owner.others.append(value)
            if owner.mirrors is not None and isinstance(key, str):
                owner.mirrors[key] = value
                m.changes.append(-1)
                m.memo.clear()
        else:
            owner.others.append(value)
            del owner.others[:-4]
        if m.short > owner.depth and not is_concrete(key):
            owner.loose = True
        grow_place(m, owner, value)
    elif isinstance(owner, dict):
        if isinstance(key, str):
            owner[key] = value
    elif isinstance(owner, list):
        if isinstance(owner, List):
            owner.others = [*owner.others[-3:], value] if isinstance(key, (Unknown, Tensor)) else []
        if isinstance(key, int) and -len(owner) <= key < len(owner):
            owner[key] = value
        elif isinstance(key, slice) and key == slice(None):
            owner[:] = list(value) if isinstance(value, (list, tuple)) else [Unknown()]
        elif isinstance(owner, List):
            owner.loose = True
        if isinstance(owner, List):
            grow_place(m, owner, value)


def grow_place(m: Machine, box: Any, value: Any) -> None:
    """Notes where a value was put, without making the container loose."""
    loose = box.loose
    grow(m, box, value)
    box.loose = loose
