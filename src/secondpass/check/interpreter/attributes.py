# SPDX-License-Identifier: BSD-3-Clause
"""Attributes and items: reading and writing them, for every kind of value."""

from __future__ import annotations

import ast
from collections.abc import Generator
from typing import Any

from .containers import has_method, method
from .gradfn import GradFunction, names, read
from .library import external
from .loops import iterate
from .machine import Machine, Raised
from .names import module_attribute
from .skipped_turns import counted
from .values import (
    Bound,
    Class,
    Dict,
    External,
    Function,
    IntMember,
    List,
    Member,
    Module,
    Native,
    Object,
    Stream,
    StrMember,
    Super,
    Tensor,
    Unknown,
)

__all__ = ["get_attribute", "has_attribute", "set_attribute"]


_INNER = frozenset({"module", "_orig_mod"})
"""What wrappers of modules call the module in them. Here they are one."""

_OF_TENSORS = frozenset({"backward", "item", "detach", "data", "cpu", "numpy"})


def get_attribute(m: Machine, owner: Any, name: str, node: ast.AST | None = None) -> Any:
    """`owner.name`"""
    if isinstance(owner, Object):
        return _of_object(m, owner, name)
    if isinstance(owner, Tensor):
        return m.tensor_attribute(owner, name, node)
    if isinstance(owner, Unknown):
        found = m.member(owner, name)
        return owner.attribute(name) if found is None else found
    if isinstance(owner, External):
        return external(f"{owner.name}.{name}")
    if isinstance(owner, Module):
        return module_attribute(m, owner, name)
    if isinstance(owner, Class):
        return _of_class(m, owner, name)
    if isinstance(owner, Super):
        return _of_super(m, owner, name)
    if isinstance(owner, Bound) and name == "cache_clear":
        owner = owner.function  # a method keeps what all objects of its class have computed
    if isinstance(owner, Function):
        if name == "cache_clear" and "cached" in owner.marks:
            return Native(name, lambda m, args, kwargs: owner.attrs.pop("cache", None))
        if name == "register" and "dispatch" in owner.marks:
            return Native(name, lambda m, args, kwargs: _register(m, owner, args))
        return owner.attrs.get(name, owner.name if name in ("__name__", "__qualname__") else Unknown(plain=True))
    if isinstance(owner, (Bound, Native)):
        if name in _OF_TENSORS:
            raise Raised("AttributeError")  # `loss = loss.mean`, without a call
        return Unknown(plain=True)
    if isinstance(owner, Stream):
        found = owner.fields.get(name)
        if name == "send" and owner.fields.get("generator"):
            return Native(name, lambda m, args, kwargs: _send(m, owner, args[0] if args else None))
        return Unknown() if found is None else found
    if isinstance(owner, (IntMember, StrMember)):
        pair = owner.cls.find(name)
        if name in ("name", "value") or pair is not None:
            return _bound(m, owner, *pair) if pair is not None else getattr(owner, name)
    if isinstance(owner, slice):
        return getattr(owner, name, None)
    if isinstance(owner, GradFunction):
        return read(m, owner, name)
    if owner is None or (isinstance(owner, (int, float, str)) and not hasattr(owner, name)):
        return m.lack("AttributeError").attribute(name)
    return method(m, owner, name)


def _register(m: Machine, general: Function, args: list[Any]) -> Any:
    """`f.register(kind)(act)` and `f.register(act)`, where the annotation of the first argument names the kind."""
    first = args[0] if args else None
    if not isinstance(first, Function):
        return Native("register", lambda m, more, words: _register(m, general, [more[0], first]))
    kind: Any = args[1] if len(args) > 1 else None
    spec = [a for a in first.node.args.args if a.annotation is not None]
    if len(args) == 1 and spec and spec[0].annotation is not None:
        kind = m.evaluate(spec[0].annotation, first.cells)
    general.attrs.setdefault("kinds", []).append((kind, first))
    return first


def _send(m: Machine, stream: Stream, value: Any) -> Any:
    """`generator.send(value)`: the `yield` that it waits at gives the value."""
    running = iterate(m, stream).source
    try:
        return running.send(value) if isinstance(running, Generator) else next(running)
    except StopIteration:
        raise Raised("StopIteration") from None


def has_attribute(m: Machine, owner: Any, name: Any) -> bool | None:
    """`hasattr(owner, name)` where it can be told."""
    if not isinstance(name, str):
        return None
    if isinstance(owner, Object):
        if name in owner.attrs or owner.cls.find(name) or (name in _INNER and "wrapped" in owner.hidden):
            return True
        if owner.cls.unknown or owner.loose or owner.cls.find("__getattr__") or name.startswith("_"):
            return None
        if owner.cls.library() not in ("", "torch.nn.Module") or "items" in owner.hidden:
            return None
        return False
    if isinstance(owner, GradFunction):
        return name in names(owner)
    if isinstance(owner, Tensor) and owner.attrs is not None and name in owner.attrs:
        return True
    return None


def _of_object(m: Machine, owner: Object, name: str) -> Any:
    if isinstance(owner, Member) and name in ("name", "value"):
        return getattr(owner, name)
    found = owner.attrs.get(name, owner)
    if found is not owner:
        if owner.cls.external == "argparse.Namespace":
            m.options.append(name)
        return found
    pair = owner.cls.find(name)
    if pair is not None:
        return _bound(m, owner, *pair)
    if name == "__class__":
        return owner.cls
    if name == "__dict__":
        return m.named(owner) if owner.cls.derives("torch.nn.Module") else owner.attrs
    if name in ("__getattr__", "__getattribute__"):
        return Native(
            name, lambda m, args, kwargs: get_attribute(m, owner, args[0]) if isinstance(args[0], str) else Unknown()
        )
    if name == "__setattr__":
        return Native(name, lambda m, args, kwargs: m.call_external(external("builtins.setattr"), [owner, *args], {}))
    items = owner.hidden.get("items")
    if items is not None:
        names = owner.hidden.get("names") or ()
        if isinstance(items, dict) and name in items and owner.cls.derives("torch.nn.Module"):
            return items[name]
        if isinstance(items, list) and name in names and len(names) == len(items):
            return items[names.index(name)]
        if hasattr(items, name) or has_method(items, name):
            return method(m, items, name)
    if name in ("_modules", "_parameters") and owner.cls.derives("torch.nn.Module"):
        return m.members(owner, name)
    fallback = owner.cls.find("__getattr__")
    if fallback and isinstance(fallback[0], Function) and len(m.frames) < m.DEPTH // 2:
        return m.call(fallback[0], [owner, name], {})
    if name in _INNER and "wrapped" in owner.hidden:
        return owner
    if isinstance(items, (List, Dict)) and owner.cls.module is None:
        # A method that a program has given to the library's own class: it may put anything in there.
        owner.loose = items.loose = True
    # An attribute that is set where we cannot see it: the same unknown value every time.
    if owner.cls.library() in ("", "torch.nn.Module"):  # of what a library's class has, not all is known
        m.note_lack(name)
    made = owner.attrs[name] = Unknown()
    return made


def _bound(m: Machine, owner: Any, found: Any, cls: Class) -> Any:
    if isinstance(found, Object) and (read := found.cls.find("__get__")) is not None:
        kind = owner.cls if isinstance(owner, Object) else owner
        return m.call(read[0], [found, owner if isinstance(owner, Object) else None, kind], {})
    if isinstance(found, Function):
        if "static" in found.marks:
            return found
        if "class" in found.marks:
            return Bound(owner.cls if isinstance(owner, Object) else owner, found)
        if "property" in found.marks:
            value = m.call(found, [owner], {})
            if "cached" in found.marks and isinstance(owner, Object):
                owner.attrs[found.name] = value
                m.changes.append(owner.serial)
            return value
        return Bound(owner, found)
    if isinstance(found, Native):
        return Bound(owner, found)
    if isinstance(found, Bound) and found.owner is None:
        return Bound(owner, found.function)
    return found


def _of_class(m: Machine, owner: Class, name: str) -> Any:
    pair = owner.find(name)
    if pair is not None:
        found = pair[0]
        if isinstance(found, Function) and "class" in found.marks:
            return Bound(owner, found)
        if isinstance(found, Native) and found.name.startswith("class:"):
            return Bound(owner, found)
        return found
    if name == "__name__":
        return owner.name
    if name == "__setattr__":
        return Native(name, lambda m, args, kwargs: _set_raw(args[0])(m, args[1:], kwargs))
    if name == "apply" and owner.derives("torch.autograd.Function"):
        return Native("apply", lambda m, args, kwargs: m.custom_function(owner, args, kwargs))
    return Unknown(("class", owner.name, name))


def _of_super(m: Machine, owner: Super, name: str) -> Any:
    cls = owner.owner.cls if isinstance(owner.owner, Object) else owner.owner
    order = cls.order if isinstance(cls, Class) else []
    after = order[order.index(owner.cls) + 1 :] if owner.cls in order else []
    for base in after:
        if name in base.attrs:
            return _bound(m, owner.owner, base.attrs[name], base)
    if name in ("__getattr__", "__getattribute__") and isinstance(owner.owner, Object):
        return Native(name, _get_raw(owner.owner))
    if isinstance(owner.owner, Object) and owner.owner.hidden.get("items") is not None:
        items = owner.owner.hidden["items"]
        return method(m, items, {"__init__": "update" if isinstance(items, dict) else "extend"}.get(name, name))
    if name in ("__init__", "__init_subclass__", "__setattr__", "__new__"):
        return Native("nothing", _set_raw(owner.owner) if name == "__setattr__" else lambda m, args, kwargs: None)
    return Unknown()


def _get_raw(owner: Object) -> Any:
    """`super().__getattr__`: what an object has without a method of its own class that is asked for what it has not."""

    def act(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
        name, items = args[0], owner.hidden.get("items")
        if name in owner.attrs:
            return owner.attrs[name]
        if isinstance(items, dict) and name in items and owner.cls.derives("torch.nn.Module"):
            return items[name]
        return m.lack("AttributeError")

    return act


def _set_raw(owner: Any) -> Any:
    def act(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
        if len(args) == 2 and isinstance(args[0], str) and isinstance(owner, Object):
            owner.attrs[args[0]] = args[1]
            m.changes.append(owner.serial)

    return act


def set_attribute(m: Machine, owner: Any, name: str, value: Any, node: ast.AST | None = None) -> None:
    """`owner.name = value`"""
    m.changes.append(getattr(owner, "serial", -1))
    if isinstance(owner, Object):
        if m.memo and "training" in owner.attrs:
            m.memo.clear()
        pair = owner.cls.find(name)
        if pair and isinstance(pair[0], Function) and "property" in pair[0].marks:
            setter = pair[0].attrs.get("setter")
            if setter is not None:
                m.call(setter, [owner, value], {})
            return
        if pair and isinstance(pair[0], Object) and (write := pair[0].cls.find("__set__")) is not None:
            m.call(write[0], [pair[0], owner, value], {})
            return
        hook = owner.cls.find("__setattr__")
        if hook and isinstance(hook[0], Function):
            m.call(hook[0], [owner, name, value], {})
            if name in owner.attrs or owner.cls.find("__getattr__"):
                return
        if m.short:
            counted(m, owner.attrs, name, owner.attrs.get(name), value)
        owner.attrs[name] = value
        if isinstance(value, Tensor) and value.is_param and value.leaf and not value.leaf.name:
            value.leaf.name = name
    elif isinstance(owner, Tensor):
        m.set_tensor_attribute(owner, name, value, node)
    elif isinstance(owner, Class):
        owner.attrs[name] = value
    elif isinstance(owner, Module):
        owner.globals[name] = value
    elif isinstance(owner, Function):
        owner.attrs[name] = value
    elif isinstance(owner, Unknown):
        if name == "requires_grad" and m.known_truth(value) is not False:
            owner.plain = False
        if owner.memo is None:
            owner.memo = {}
        if isinstance(value, Unknown):
            owner.memo[name] = value
        else:
            # What is put on an unknown object cannot be followed: reading it back gives an unknown value.
            owner.memo[name] = Unknown(node=getattr(value, "node", None))
