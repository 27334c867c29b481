# SPDX-License-Identifier: BSD-3-Clause
"""Hooks: functions of the program that its forwards and passes call.

A hook may do anything to the program's state. Those of a forward are called where the module is called; those of a pass
are called after every pass that walked something of theirs, with gradients that have no history.
"""

from __future__ import annotations

from typing import Any

from ..interpreter.library import CLASSES, models
from ..interpreter.machine import Machine
from ..interpreter.values import Native, Object, Tensor, Unknown
from .modules import parameters

__all__ = ["HOOKS", "after_forward", "after_pass", "before_forward", "on_tensor"]

models("torch.utils.hooks.RemovableHandle")


def _handle(m: Machine, box: list[Any], entry: Any) -> Object:
    box.append(entry)
    m.memo.clear()  # what was remembered of modules was without this hook

    def remove(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
        if any(e is entry for e in box):
            box[:] = [e for e in box if e is not entry]
            m.memo.clear()

    made = Object(CLASSES["torch.utils.hooks.RemovableHandle"])
    made.attrs["remove"] = Native("remove", remove)
    return made


def _given(args: list[Any], kwargs: dict[str, Any]) -> Any:
    return args[1] if len(args) > 1 else kwargs.get("hook", Unknown())


def _forward(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Object:
    words = kwargs.get("with_kwargs", False) is not False
    return _handle(m, args[0].hidden.setdefault("after", []), (_given(args, kwargs), words))


def _before(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Object:
    return _handle(m, args[0].hidden.setdefault("before", []), (_given(args, kwargs),))


def _backward(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Object:
    return _handle(m, m.hooks, (args[0], _given(args, kwargs)))


HOOKS = {
    "register_forward_hook": _forward,
    "register_forward_pre_hook": _before,
    "register_full_backward_hook": _backward,
    "register_full_backward_pre_hook": _backward,
    "register_backward_hook": _backward,
}
"""Methods of `torch.nn.Module`."""


def on_tensor(m: Machine, tensor: Tensor, hook: Any) -> Object:
    """`tensor.register_hook(hook)`"""
    return _handle(m, m.hooks, (tensor, hook))


def before_forward(m: Machine, owner: Object, args: list[Any]) -> list[Any]:
    """Calls the hooks before a module's forward; returns the arguments that the forward gets."""
    for (hook,) in list(owner.hidden["before"]):
        value = m.call(hook, [owner, tuple(args)], {})
        if value is not None:
            args = list(value) if isinstance(value, tuple) else [value]
    return args


def after_forward(m: Machine, owner: Object, args: list[Any], result: Any) -> Any:
    """Calls the hooks after a module's forward; returns what the call gives back."""
    for hook, words in list(owner.hidden["after"]):
        given = [owner, tuple(args), Unknown(), result] if words else [owner, tuple(args), result]
        value = m.call(hook, given, {})
        # A hook of which it cannot be told what it gives is taken for one that only looks.
        if value is not None and not isinstance(value, Unknown):
            result = value
    return result


def after_pass(m: Machine, walked: set[int]) -> None:
    """Calls the hooks of a pass that walked nodes of these numbers."""
    for owner, hook in list(m.hooks):
        if isinstance(owner, Tensor):
            node = owner.edge
            if node is not None and node.number in walked:
                m.call(hook, [Tensor(False)], {})
            continue
        leaves = [p.leaf for p in parameters(owner).values() if p.leaf is not None]
        if not leaves or any(leaf.node.number in walked for leaf in leaves):
            m.call(hook, [owner, (Tensor(False),), (Tensor(False),)], {})
