# SPDX-License-Identifier: BSD-3-Clause
"""`argparse`: options have their defaults, as when a program is called without arguments."""

from __future__ import annotations

from typing import Any

from .library import models
from .machine import Machine
from .values import External, Object, Unknown

__all__: list[str] = []

_CASTS = {"builtins.int": int, "builtins.float": float, "builtins.str": str}


def _init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    args[0].hidden["options"] = {}
    parents = kwargs.get("parents")
    for parent in parents if isinstance(parents, (list, tuple)) else ():
        if isinstance(parent, Object):
            args[0].hidden["options"].update(parent.hidden.get("options", {}))


def _add(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    owner, flags = args[0], [a for a in args[1:] if isinstance(a, str)]
    options = owner.hidden.setdefault("options", {})
    if not flags and not isinstance(kwargs.get("dest"), str):
        return Unknown(plain=True)
    long = [f for f in flags if f.startswith("--")]
    name = kwargs.get("dest") or (long or flags)[0].lstrip("-").replace("-", "_")
    action = kwargs.get("action")
    if "default" in kwargs:
        value = kwargs["default"]
        cast = kwargs.get("type")
        if isinstance(value, str) and isinstance(cast, External) and cast.name in _CASTS:
            try:
                value = _CASTS[cast.name](value)
            except ValueError:
                value = Unknown(plain=True)
    elif action in ("store_true", "store_false"):
        value = action == "store_false"
    elif (flags and not flags[0].startswith("-")) or kwargs.get("required") is True:
        value = Unknown(("option", name), plain=True)
    else:
        value = None if action in (None, "store") else Unknown(("option", name), plain=True)
    if name not in options or "default" in kwargs:
        options[name] = value
    return Unknown(plain=True)


def _same(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return args[0]


def _defaults(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    args[0].hidden.setdefault("options", {}).update(kwargs)


def _fill(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    for given in (*args[1:], kwargs):
        args[0].attrs.update(given if isinstance(given, dict) else {})


models("types.SimpleNamespace", __init__=_fill)
_NAMESPACE = models("argparse.Namespace", __init__=_fill)
_NAMESPACE.unknown = True


def _parse(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Object:
    made = Object(_NAMESPACE)
    made.attrs.update(args[0].hidden.get("options", {}))
    return made


models(
    "argparse.ArgumentParser",
    __init__=_init,
    add_argument=_add,
    add_argument_group=_same,
    add_mutually_exclusive_group=_same,
    set_defaults=_defaults,
    parse_args=_parse,
    parse_known_args=lambda m, args, kwargs: (_parse(m, args, kwargs), Unknown(plain=True)),
    print_help=lambda m, args, kwargs: None,
)
