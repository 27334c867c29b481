# SPDX-License-Identifier: BSD-3-Clause
"""Which row of the table a name means, by the arguments it is given: `max(x)`, `max(x, dim)`, `max(x, y)`."""

from __future__ import annotations

from typing import Any

from ..interpreter.values import Tensor, Unknown

__all__ = ["meant"]

_BY_ARGUMENTS = {
    # name, and the row it means when a dimension (or a tensor) is given
    "max": ("max", "max_dim", "maximum"),
    "min": ("min", "min_dim", "minimum"),
    "mean": ("mean", "mean_dim", ""),
    "sum": ("sum", "sum_dim", ""),
    "prod": ("prod", "prod_dim", ""),
    "squeeze": ("squeeze", "squeeze_dim", ""),
}


def meant(name: str, args: list[Any], kwargs: dict[str, Any]) -> str:
    """The name of the row. Arguments that the row does not take are taken out of `args`."""
    if name in _BY_ARGUMENTS:
        plain, by_dim, by_tensor = _BY_ARGUMENTS[name]
        if "dim" in kwargs or "axis" in kwargs:
            return by_dim
        if len(args) > 1:
            if by_tensor and isinstance(args[1], Tensor):
                return by_tensor
            return by_dim if not isinstance(args[1], Unknown) or not by_tensor else plain
        return plain
    if len(args) == 2:
        left, right = args
        if name == "sub" and not isinstance(left, (Tensor, Unknown)):
            args[:] = [right]
            return "rsub"
        if name == "div" and not isinstance(left, (Tensor, Unknown)):
            args[:] = [right]
            return "rtruediv"
        if name == "pow":
            if not isinstance(left, (Tensor, Unknown)):
                args[:] = [right]
                return "rpow"
            if isinstance(right, (Tensor, Unknown)) and not (isinstance(right, Unknown) and right.plain):
                return "pow_tensor"
            args[:] = [left]
        if name == "masked_fill" or name == "lerp":
            return name
        if name == "matmul":
            return "mm"
    return name
