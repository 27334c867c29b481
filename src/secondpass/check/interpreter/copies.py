# SPDX-License-Identifier: BSD-3-Clause
"""Deep copies: modules get parameters of their own."""

from __future__ import annotations

from typing import Any

from .machine import Machine
from .values import Dict, List, Member, Object, Tensor, Unknown

__all__ = ["copied"]


def copied(m: Machine, value: Any, done: dict[int, Any]) -> Any:
    """A deep copy of a value."""
    if id(value) in done:
        return done[id(value)]
    made: Any
    if isinstance(value, Tensor):
        made = done[id(value)] = Tensor(value.needs if value.leaf is not None else False)
        made.is_param = value.is_param
        if value.leaf is not None:
            m.engine.copies.add(m.engine.leaf(made, value.leaf.name).node.number)
        return made
    if isinstance(value, Unknown) and not value.plain:
        made = done[id(value)] = Unknown(node=None)
        made.instance = value.instance or value.network is not None
        return made
    if isinstance(value, Object) and not isinstance(value, Member):
        made = done[id(value)] = Object(value.cls)
        made.loose = value.loose
        made.attrs = {k: copied(m, v, done) for k, v in value.attrs.items()}
        made.hidden = {k: copied(m, v, done) for k, v in value.hidden.items()}
        return made
    if isinstance(value, list):
        made = done[id(value)] = List((copied(m, v, done) for v in value), m.short)
        made.loose = getattr(value, "loose", False)
        return made
    if isinstance(value, dict):
        made = done[id(value)] = Dict({k: copied(m, v, done) for k, v in value.items()}, m.short)
        made.loose = getattr(value, "loose", False)
        return made
    if isinstance(value, tuple):
        return tuple(copied(m, v, done) for v in value)
    return value
