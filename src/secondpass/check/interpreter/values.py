# SPDX-License-Identifier: BSD-3-Clause
"""What a name can hold while code is read: plain Python values as they are, and stand-ins for everything else.

NOTE [ What is known ]
1. Numbers, strings, tuples, lists, dicts and None are themselves; `Unknown` is any value that reading cannot tell.
2. Three answers everywhere: True, False, and None for "cannot be told". None never leads to a finding.
3. `Unknown.plain` says that no tensor with history can be in it (numbers, arrays, text, batches of a loader).
4. A container that grew in a loop which was cut short is `loose`: its elements are right, its length is not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from .nodes import Store, Tensor, Unknown, identity, serials

__all__ = [
    "Bound",
    "Class",
    "Dict",
    "External",
    "Function",
    "IntMember",
    "List",
    "Member",
    "Module",
    "Native",
    "Object",
    "Store",
    "StrMember",
    "Stream",
    "Super",
    "Tensor",
    "Unknown",
    "identity",
    "length",
    "serials",
]


class List(list):  # type: ignore[type-arg]
    """A list that remembers where tensors were put into it; `others` is what took the place of some, nobody knows of which."""

    __slots__ = ("_loose", "depth", "forgets", "grew_in", "kind", "limit", "of", "others", "place", "serial")

    def __init__(self, items: Any = (), depth: int = 0) -> None:
        super().__init__(items)
        self.serial = next(serials)
        self._loose = False
        self.grew_in: set[Any] = set()
        """The loops in which it grew, where nothing else made it loose: until one of them is cut, its length can be told."""
        self.of: tuple[Any, ...] = ()
        """The modules whose parameters it has, where they may have more than can be told."""
        self.depth = depth
        self.others: list[Any] = []
        self.place: Any = None
        self.limit: int | None = None
        self.forgets = False
        """Whether it was given a limit, and forgets by itself what came before."""
        self.kind = "list"

    __hash__ = object.__hash__  # type: ignore[assignment]

    @property
    def loose(self) -> bool:
        return self._loose

    @loose.setter
    def loose(self, value: bool) -> None:
        self._loose = value
        self.grew_in.clear()

    def grows_in(self, loops: list[Any]) -> None:
        """Something was put into it in loops that will be cut short."""
        if self.grew_in or not self._loose:
            self.grew_in.update(loops)
        self._loose = True


class Dict(dict):  # type: ignore[type-arg]
    """A dict that remembers where tensors were put into it; unknown keys are in `others`."""

    __slots__ = ("default", "depth", "loose", "mirrors", "others", "place", "serial")

    def __init__(self, items: Any = (), depth: int = 0) -> None:
        super().__init__(items)
        self.serial = next(serials)
        self.loose = False
        self.depth = depth
        self.place: Any = None
        self.default: Any = None
        self.others: list[Any] = []
        self.mirrors: dict[str, Any] | None = None
        """The attributes that it is a view of."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class Stream:
    """An iterable whose elements are made as they are asked for; `length` is None where it cannot be told."""

    __slots__ = ("fields", "iterator", "length", "make")

    def __init__(self, make: Callable[[], Iterator[Any]], length: int | None = None, **fields: Any) -> None:
        self.make = make
        self.length = length
        self.fields = fields
        self.iterator: Iterator[Any] | None = None


class External:
    """A name of a library that is known by its dotted name: `torch.nn.functional.relu`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Module:
    """A file of the project, executed when one of its names is first needed."""

    __slots__ = ("file", "globals", "name", "state")

    def __init__(self, name: str, file: str) -> None:
        self.name = name
        self.file = file
        self.globals: dict[str, Any] = {}
        self.state = "new"


class Function:
    """A function or lambda of the project with the names around it."""

    __slots__ = ("attrs", "cells", "cls", "defaults", "kwdefaults", "marks", "module", "name", "node")

    def __init__(self, node: Any, module: Module, cells: Any, name: str) -> None:
        self.node: ast.FunctionDef | ast.Lambda = node
        self.module = module
        self.cells = cells
        self.name = name
        self.cls: Class | None = None
        self.defaults: list[Any] = []
        self.kwdefaults: dict[str, Any] = {}
        self.marks: set[str] = set()
        self.attrs: dict[str, Any] = {}


class Native:
    """A function of ours that stands for one of a library. `act(machine, args, kwargs)`."""

    __slots__ = ("act", "name")

    def __init__(self, name: str, act: Callable[..., Any]) -> None:
        self.name = name
        self.act = act


class Bound:
    """A function with its first argument."""

    __slots__ = ("function", "owner")

    def __init__(self, owner: Any, function: Any) -> None:
        self.owner = owner
        self.function = function


class Super:
    """`super()` in a method of `cls` called on `owner`."""

    __slots__ = ("cls", "owner")

    def __init__(self, cls: Class, owner: Any) -> None:
        self.cls = cls
        self.owner = owner


class Class:
    """A class of the project, or (without a node) one of a library that is modelled."""

    __slots__ = ("attrs", "bases", "external", "fields", "module", "name", "node", "order", "unknown")

    def __init__(self, name: str, bases: list[Any], module: Module | None = None, external: str = "") -> None:
        self.name = name
        self.bases = [b for b in bases if isinstance(b, Class)]
        self.module = module
        self.external = external
        """Dotted name of the library class it stands for."""
        self.attrs: dict[str, Any] = {}
        self.fields: list[tuple[str, Any]] | None = None
        self.node: ast.ClassDef | None = None
        self.unknown: bool = any(not isinstance(b, Class) for b in bases) or any(b.unknown for b in self.bases)
        """Whether it inherits from something that could not be resolved."""
        self.order = self._order()

    def _order(self) -> list[Class]:
        order: list[Class] = [self]
        for base in self.bases:
            for cls in base.order:
                # A shared base comes after all classes that derive from it, as in Python's own order.
                if cls in order:
                    order.remove(cls)
                order.append(cls)
        return order

    def find(self, name: str) -> tuple[Any, Class] | None:
        """The attribute and the class that defines it."""
        for cls in self.order:
            if name in cls.attrs:
                return cls.attrs[name], cls
        return None

    def derives(self, external: str) -> bool:
        """Whether it is, or inherits from, the library class of that dotted name."""
        return any(c.external == external for c in self.order)

    def library(self) -> str:
        """The nearest library class it stands for."""
        return next((c.external for c in self.order if c.external), "")


class Object:
    """An instance of a class; `hidden` is what a modelled library class keeps for itself."""

    __slots__ = ("attrs", "cls", "hidden", "loose", "serial")

    def __init__(self, cls: Class) -> None:
        self.serial = next(serials)
        self.cls = cls
        self.attrs: dict[str, Any] = {}
        self.hidden: dict[str, Any] = {}
        self.loose = False
        """Whether code that could not be read may have changed it."""


class Member(Object):
    """A member of an enumeration: as known as a number, and equal to nothing but itself."""

    __slots__ = ("name", "value")
    name: str
    value: Any

    def __str__(self) -> str:
        return f"{self.cls.name}.{self.name}"

    __repr__ = __str__


class IntMember(int):
    """A member of an enumeration that is a number."""

    cls: Class
    name: str
    value: int


class StrMember(str):
    """A member of an enumeration that is text."""

    cls: Class
    name: str
    value: str


def length(value: Any) -> int | None:
    """How many elements there are, where it can be told."""
    if isinstance(value, (List, Dict)) and (value.loose or (isinstance(value, Dict) and value.others)):
        return None
    return len(value) if hasattr(value, "__len__") else None
