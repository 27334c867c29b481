# SPDX-License-Identifier: BSD-3-Clause
"""What is in a module: the modules below it, and its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..interpreter.machine import Machine
from ..interpreter.values import Dict, Object, Tensor, Unknown

__all__ = ["complete", "inside", "is_module", "make_parameter", "members", "modules", "named", "parameters", "unread"]


def make_parameter(m: Machine, name: str = "", needs: bool | None = True) -> Tensor:
    """A new parameter."""
    made = Tensor(needs)
    made.is_param = True
    m.engine.leaf(made, name)
    return made


def modules(owner: Object, prefix: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Object]]:
    """A module and all modules in it, with their names."""
    seen = set() if seen is None else seen
    if id(owner) in seen or len(seen) > 400:
        return
    seen.add(id(owner))
    yield prefix, owner
    for name, value in [*owner.attrs.items(), *inside(owner)]:
        if isinstance(value, Object) and value.cls.derives("torch.nn.Module"):
            yield from modules(value, f"{prefix}.{name}" if prefix else str(name), seen)


def inside(owner: Object) -> list[tuple[str, Any]]:
    """What a container of modules holds, with its names."""
    items = owner.hidden.get("items")
    if isinstance(items, dict):
        return [*items.items(), *(("...", v) for v in items.others)]  # type: ignore[attr-defined]
    if not isinstance(items, list):
        return []
    names = owner.hidden.get("names") or ()
    return (
        list(zip(names, items, strict=True)) if len(names) == len(items) else [(str(i), v) for i, v in enumerate(items)]
    )


def members(owner: Object, name: str) -> Dict:
    """`_modules` and `_parameters`: a module's own, not those of modules in it."""
    every = [*owner.attrs.items(), *inside(owner)]
    if name == "_modules":
        made = Dict({n: v for n, v in every if is_module(v)})
    else:
        made = Dict({n: v for n, v in every if isinstance(v, Tensor) and v.is_param})
    made.mirrors = owner.attrs
    return made


def named(owner: Object) -> Dict:
    """`__dict__`: where a module has its modules and parameters in dictionaries of their own."""
    parts = {name: members(owner, name) for name in ("_modules", "_parameters")}
    made = Dict({**owner.attrs, **parts})
    made.mirrors = owner.attrs
    return made


def parameters(owner: Object) -> dict[str, Tensor]:
    """All parameters of a module by name."""
    found: dict[str, Tensor] = {}
    seen: set[int] = set()
    for prefix, module in modules(owner):
        for name, value in [*module.attrs.items(), *inside(module)]:
            if isinstance(value, Tensor) and value.is_param and id(value) not in seen:
                seen.add(id(value))
                found[f"{prefix}.{name}" if prefix else str(name)] = value
    return found


def complete(owner: Object) -> bool:
    """Whether all parameters of a module can be told."""
    for _, module in modules(owner):
        if module.cls.unknown or module.loose:
            return False
        # What a layer of the catalogue keeps besides its parameters are sizes.
        for value in module.attrs.values() if module.cls.module is not None else ():
            if isinstance(value, Unknown) and not value.plain:
                return False
        items = module.hidden.get("items")
        if items is not None and (getattr(items, "loose", False) or any(isinstance(v, Unknown) for v in items)):
            return False
    return True


def unread(owner: Object) -> Iterator[Unknown]:
    """What is in a module and may be one that is not read."""
    for _, module in modules(owner):
        for _, value in [*module.attrs.items(), *inside(module)]:
            if isinstance(value, Unknown) and not value.plain:
                yield value


def is_module(value: Any) -> bool:
    """Whether a value is a module."""
    return isinstance(value, Object) and value.cls.derives("torch.nn.Module")
