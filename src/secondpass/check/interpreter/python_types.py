# SPDX-License-Identifier: BSD-3-Clause
"""Built-in functions that ask for types and attributes."""

from __future__ import annotations

from typing import Any

from .attributes import get_attribute, has_attribute, set_attribute
from .containers import is_concrete
from .gradfn import GradFunction, names
from .library import function, library_class
from .machine import Machine
from .values import Bound, Class, External, Function, List, Module, Native, Object, Stream, Tensor, Unknown, identity

__all__: list[str] = []

Args = list[Any]
Words = dict[str, Any]


def instance_of(m: Machine, value: Any, kind: Any) -> bool | None:
    """`isinstance(value, kind)` where it can be told."""
    if isinstance(kind, (tuple, list)):
        answers = [instance_of(m, value, k) for k in kind]
        return True if True in answers else None if None in answers else False
    if isinstance(value, Unknown):
        return None
    if isinstance(kind, Class):
        if not isinstance(value, Object):
            return False
        return kind in value.cls.order or (None if value.cls.unknown else False)
    if not isinstance(kind, External):
        return None
    last = kind.name.rpartition(".")[2]
    if isinstance(value, Object):
        if value.cls.derives(kind.name):
            return True
        return (
            None
            if value.cls.unknown or (library_class(kind.name) is None and not kind.name.startswith("builtins."))
            else False
        )
    if isinstance(value, Tensor):
        if kind.name == "torch.nn.Parameter":
            return value.is_param
        return kind.name in ("torch.Tensor", "torch.autograd.Variable") or (
            None if kind.name.startswith("torch.") else False
        )
    real: Any = {
        "int": int, "float": float, "str": str, "bool": bool, "list": list, "tuple": tuple, "dict": dict, "set": set,
        "Sequence": (list, tuple), "Iterable": (list, tuple, dict, set), "Mapping": dict, "OrderedDict": dict,
        "bytes": bytes, "Number": (int, float), "Callable": (Function, Bound, Native), "range": range,
        "defaultdict": dict, "deque": list, "List": list, "Dict": dict,
    }.get(last)  # fmt: skip
    if real is None:
        return False if is_concrete(value) or isinstance(value, (list, dict, tuple)) else None
    if isinstance(value, (Stream, Module, Function, Bound)) and last != "Callable":
        return None
    return isinstance(value, real)


@function("builtins.isinstance")
def _isinstance(m: Machine, args: Args, kwargs: Words) -> Any:
    known = instance_of(m, args[0], args[1])
    if known is not None:
        return known
    kind = identity(args[1])
    return Unknown(("isinstance", identity(args[0]), kind), plain=True)


@function("builtins.issubclass", "builtins.callable")
def _open_question(m: Machine, args: Args, kwargs: Words) -> Any:
    if len(args) == 1 and isinstance(args[0], (Function, Bound, Native, Class)):
        return True
    return Unknown(plain=True)


@function("builtins.hasattr")
def _hasattr(m: Machine, args: Args, kwargs: Words) -> Any:
    known = has_attribute(m, args[0], args[1])
    return Unknown(("has", identity(args[0]), identity(args[1])), plain=True) if known is None else known


@function("builtins.getattr")
def _getattr(m: Machine, args: Args, kwargs: Words) -> Any:
    if not isinstance(args[1], str):
        return Unknown()
    if len(args) > 2:
        known = has_attribute(m, args[0], args[1])
        if known is False:
            return args[2]
    return get_attribute(m, args[0], args[1])


@function("builtins.setattr")
def _setattr(m: Machine, args: Args, kwargs: Words) -> None:
    if isinstance(args[1], str):
        set_attribute(m, args[0], args[1], args[2])
    elif isinstance(args[0], Object):
        args[0].loose = True
        if isinstance(args[2], (Object, Tensor)):
            args[0].attrs[f"<{len(args[0].attrs)}>"] = args[2]


@function("builtins.dir")
def _dir(m: Machine, args: Args, kwargs: Words) -> Any:
    return List(names(args[0]), m.short) if args and isinstance(args[0], GradFunction) else Unknown(plain=True)


@function("builtins.type")
def _type(m: Machine, args: Args, kwargs: Words) -> Any:
    if len(args) == 1 and isinstance(args[0], Object):
        return args[0].cls
    return Unknown(("type", identity(args[0])), plain=True)
