# SPDX-License-Identifier: BSD-3-Clause
"""Element types and their names."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["array_type", "default", "device", "dtype", "get_default_dtype", "of", "set_default_dtype"]


class dtype:
    """An element type."""

    def __init__(self, name: str, kind: Any) -> None:
        self.name, self.kind = name, np.dtype(kind)
        self.is_floating_point = self.kind.kind == "f"
        self.itemsize = self.kind.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"


ALL = {
    name: dtype(name, name.replace("bool", "bool_"))
    for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
}
ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}
_OF = {d.kind: d for d in ALL.values()}


class _Default:
    kind = np.dtype(np.float32)


default = _Default()


def of(kind: Any) -> dtype:
    """Our type for NumPy's."""
    return _OF[kind]


def array_type(kind: Any) -> Any:
    """NumPy's type for ours (or for Python's own)."""
    if isinstance(kind, dtype):
        return kind.kind
    plain = {float: default.kind, int: np.dtype(np.int64), bool: np.dtype(np.bool_)}
    if kind in plain:
        return plain[kind]
    raise TypeError(f"dtype must be a torch.dtype (got {kind!r})")


def get_default_dtype() -> dtype:
    """The type that floating point numbers get."""
    return of(default.kind)


def set_default_dtype(kind: dtype) -> None:
    """Changes the type that floating point numbers get."""
    if not kind.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type (got {kind})")
    default.kind = kind.kind


class device:
    """Where tensors live: always the CPU."""

    def __init__(self, kind: Any = "cpu", index: int | None = None) -> None:
        self.type = str(getattr(kind, "type", kind)).split(":")[0]
        if self.type != "cpu":
            raise RuntimeError(f"secondpass.autograd computes on the CPU only (got device {kind!r})")
        self.index = index

    def __eq__(self, other: object) -> bool:
        return str(other) == str(self)

    def __hash__(self) -> int:
        return hash(self.type)

    def __str__(self) -> str:
        return self.type

    def __repr__(self) -> str:
        return f"device(type={self.type!r})"
