# SPDX-License-Identifier: BSD-3-Clause
"""`torch.func`: modules called with other parameters in place of their own, and functions of functions."""

from __future__ import annotations

from typing import Any

from ..interpreter.calls import call
from ..interpreter.library import function
from ..interpreter.machine import Machine
from ..interpreter.values import Dict, Native, Object, Tensor, Unknown
from .modules import complete, parameters
from .tensors import unknown_operation

__all__: list[str] = []


def _home(module: Object, path: list[str]) -> tuple[Any, Any] | None:
    """The names (or the list) that hold a member, and its key there."""
    here: Any = module
    for index, part in enumerate(path):
        items = here.hidden.get("items")
        names: Any = here.attrs
        key: Any = part
        if isinstance(items, list) and part.isdigit() and int(part) < len(items):
            names, key = items, int(part)
        elif isinstance(items, dict) and part in items:
            names = items
        elif part not in names:
            return None
        if index == len(path) - 1:
            return names, key
        here = names[key]
        if not isinstance(here, Object):
            return None
    return None


@function("torch.func.functional_call", "torch.nn.utils.stateless.functional_call", "torch.nn.utils.functional_call")
def _functional_call(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    module, given = args[0], args[1] if len(args) > 1 else kwargs.get("parameter_and_buffer_dicts")
    inputs = args[2] if len(args) > 2 else kwargs.get("args", ())
    words = args[3] if len(args) > 3 else kwargs.get("kwargs") or {}
    values = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    places = _places(module, given)
    if places is None or not isinstance(words, dict):
        # Which parameters take part cannot be told: the result may come from any of those that were handed over.
        return unknown_operation(m, "functional_call", [*values, given], {})
    before = [(names, key, names[key]) for names, key, _ in places]
    m.memo.clear()
    for names, key, value in places:
        names[key] = value
    try:
        return call(m, module, values, dict(words))
    finally:
        for names, key, value in before:
            names[key] = value
        m.memo.clear()


def _places(module: Any, given: Any) -> list[tuple[Any, Any, Any]] | None:
    dicts = given if isinstance(given, (tuple, list)) else (given,)
    found: list[tuple[Any, Any, Any]] = []
    for names in dicts:
        if not isinstance(names, dict) or getattr(names, "loose", False) or getattr(names, "others", None):
            return None
        for name, value in names.items():
            home = _home(module, name.split(".")) if isinstance(module, Object) and isinstance(name, str) else None
            if home is None or not isinstance(value, (Tensor, Unknown)):
                return None
            found.append((*home, value))
    return found


@function("torch.func.stack_module_state", "functorch.stack_module_state")
def _stack_module_state(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The parameters of several modules, stacked: leaves of their own, which lead nowhere."""
    first = args[0][0] if isinstance(args[0], list) and args[0] else None
    if not isinstance(first, Object) or not complete(first):
        return Unknown()
    stacked = Dict(depth=m.short)
    for name, own in parameters(first).items():
        stacked[name] = Tensor(own.needs)
        if own.needs:
            m.engine.leaf(stacked[name], name)
    return stacked, Dict(depth=m.short)


@function("torch.func.vmap", "torch.vmap", "functorch.vmap")
def _vmap(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Native:
    """The history of a batch is that of one sample."""
    return Native("vmap", lambda m, given, words: m.call(args[0], given, words))
