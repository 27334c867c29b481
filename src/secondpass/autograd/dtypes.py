# SPDX-License-Identifier: BSD-3-Clause
"""Element types and their names."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["array_type", "default", "device", "dtype", "of"]


class dtype:
    """An element type."""

    def __init__(self, name: str) -> None:
        self.name, self.kind = name, np.dtype(name)
        self.is_floating_point, self.itemsize = self.kind.kind == "f", self.kind.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"


ALL = {n: dtype(n) for n in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")}
ALIASES = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64"}
_OF = {d.kind: d for d in ALL.values()}


class default:
    """The type that floating point numbers get."""

    kind = np.dtype(np.float32)


def of(kind: Any) -> dtype:
    """Our type for NumPy's."""
    return _OF[kind]


def array_type(kind: Any, otherwise: Any = None) -> Any:
    """NumPy's type for ours or for Python's own; None stands for the default type, or for another."""
    if isinstance(kind, dtype):
        return kind.kind
    plain = {None: otherwise or default.kind, float: default.kind, int: np.dtype("int64"), bool: np.dtype("bool")}
    if kind not in plain:
        raise TypeError(f"dtype must be a torch.dtype (got {kind!r})")
    return plain[kind]


class device(str):
    """Where tensors live: always the CPU."""

    def __new__(cls, kind: Any = "cpu", index: int | None = None) -> device:
        if str(kind).split(":")[0] != "cpu":
            raise RuntimeError(f"secondpass.autograd computes on the CPU only (got device {kind!r})")
        return super().__new__(cls, "cpu")

    @property
    def type(self) -> str:
        return "cpu"

    def __repr__(self) -> str:
        return "device(type='cpu')"
