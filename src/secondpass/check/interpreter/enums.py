# SPDX-License-Identifier: BSD-3-Clause
"""Enumerations: the members of a class that derives from `enum.Enum`, each one thing of its own.

What derives from `str` or `int` as well is that very text or number, and knows its name besides.
"""

from __future__ import annotations

from typing import Any

from .library import function, models
from .machine import Machine
from .values import Bound, Class, Function, IntMember, Member, Native, StrMember, Unknown

__all__ = ["make_members", "member"]

_AUTO = ("auto",)
_KINDS: dict[str, type[IntMember] | type[StrMember]] = {
    "enum.IntEnum": IntMember,
    "enum.IntFlag": IntMember,
    "builtins.int": IntMember,
    "enum.StrEnum": StrMember,
    "builtins.str": StrMember,
}

models("enum.Enum")
models("enum.Flag", "enum.Enum")
for _name in ("IntEnum", "StrEnum"):
    models(f"enum.{_name}", "enum.Enum")
models("enum.IntFlag", "enum.Flag")


@function("enum.auto")
def _auto(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Unknown:
    return Unknown(_AUTO, plain=True)


def make_members(m: Machine, cls: Class, bases: list[str]) -> None:
    """Puts members where the class's body has values; `bases` are the dotted names of what else it derives from."""
    names = [*bases, *(c.external for c in cls.order)]
    kind: type[Member] | type[IntMember] | type[StrMember] = next((_KINDS[n] for n in names if n in _KINDS), Member)
    made: list[Any] = []
    for name, value in list(cls.attrs.items()):
        if name.startswith("_") or isinstance(value, (Function, Bound, Native, Class)):
            continue
        if isinstance(value, Unknown) and value.key == _AUTO:
            value = _next(cls, kind, name, [one.value for one in made])
        if (kind is IntMember and type(value) is not int) or (kind is StrMember and type(value) is not str):
            continue
        found = next((one for one in made if type(one.value) is type(value) and one.value == value), None)
        if found is None:
            found = kind(value) if kind is not Member else Member(cls)
            found.cls, found.name, found.value = cls, name, value
            made.append(found)
            start = cls.find("__init__")
            if start and isinstance(found, Member):
                m.call(start[0], [found, *(value if isinstance(value, tuple) else (value,))], {})
        cls.attrs[name] = found
    cls.attrs["__members__"] = {one.name: one for one in made}


def _next(cls: Class, kind: Any, name: str, before: list[Any]) -> Any:
    if kind is StrMember:
        return name.lower()
    last = max((v for v in before if type(v) is int), default=0)
    return 1 << last.bit_length() if cls.derives("enum.Flag") else last + 1


def member(cls: Class, args: list[Any]) -> Any:
    """`Class(value)`: the member that has it."""
    members = cls.attrs.get("__members__")
    if len(args) != 1 or members is None:
        return Unknown()
    return next((one for one in members.values() if one is args[0] or one.value == args[0]), Unknown(plain=True))
