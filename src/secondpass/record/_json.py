# SPDX-License-Identifier: BSD-3-Clause
"""Frozen dataclasses to and from JSON values, driven by their annotations.

Only what the record needs is supported: other record classes, optional values, tuples, dicts with string keys, and the
plain JSON scalars. Fields that a reader does not know are ignored and fields that a writer did not know take their
default, so that old files stay readable.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Turns a record value into what `json.dumps` accepts."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [to_plain(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted(to_plain(v) for v in value)
    if isinstance(value, dict):
        return {str(k): to_plain(v) for k, v in value.items()}
    return value


def from_plain(cls: type[T], data: Any) -> T:
    """Rebuilds a record value of class `cls` from what `to_plain` returned."""
    if not isinstance(data, dict):
        raise ValueError(f"{cls.__name__}: a JSON object was expected (got {type(data).__name__})")
    readers = _readers(cls)  # type: ignore[arg-type]  # mypy does not know that classes are hashable
    missing = [n for n, (_, needed) in readers.items() if needed and n not in data]
    if missing:
        raise ValueError(f"{cls.__name__}: {', '.join(missing)} missing")
    return cls(**{name: read(data[name]) for name, (read, _) in readers.items() if name in data})


@cache
def _readers(cls: type) -> dict[str, tuple[Callable[[Any], Any], bool]]:
    hints = get_type_hints(cls)
    none = dataclasses.MISSING
    return {
        f.name: (_reader(hints[f.name]), f.default is none and f.default_factory is none)
        for f in dataclasses.fields(cls)
    }


def _reader(hint: Any) -> Callable[[Any], Any]:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        record = hint
        return lambda data: from_plain(record, data)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        inner = [a for a in args if a is not type(None)]
        if len(inner) == 1:
            read = _reader(inner[0])
            return lambda data: None if data is None else read(data)
        return lambda data: data
    if origin is tuple and args and args[-1] is Ellipsis:
        item = _reader(args[0])
        return lambda data: tuple(item(v) for v in data)
    if origin is tuple:
        items = [_reader(a) for a in args]
        return lambda data: tuple(read(v) for read, v in zip(items, data, strict=True))
    if origin is frozenset:
        return lambda data: frozenset(data)
    if origin is dict:
        key, value = args[0], _reader(args[1])
        return lambda data: {key(k): value(v) for k, v in data.items()}
    return lambda data: data
