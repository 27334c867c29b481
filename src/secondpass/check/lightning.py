# SPDX-License-Identifier: BSD-3-Clause
"""Lightning's loop around a `training_step`: forward, zero_grad, backward, step, for a few batches."""

from __future__ import annotations

from typing import Any

from .attributes import get_attribute
from .calls import call
from .machine import Machine
from .passes import backward
from .values import Function, Object, Tensor, Unknown

__all__ = ["fit"]


def fit(m: Machine, owner: Object) -> None:
    """Trains a module as Lightning's Trainer would, by automatic optimization unless the module says otherwise."""
    optimizers = _optimizers(m, owner)
    owner.attrs["optimizers"] = _given(optimizers)
    manual = owner.attrs.get("automatic_optimization") is False
    for batch in range(3):
        value = call(m, get_attribute(m, owner, "training_step"), [Unknown(plain=True), batch], {})
        loss = value.get("loss") if isinstance(value, dict) else value
        if manual or not isinstance(loss, Tensor):
            continue
        for optimizer in optimizers[:1]:
            call(m, get_attribute(m, optimizer, "zero_grad"), [], {})
        backward(m, [loss], {})
        for optimizer in optimizers[:1]:
            call(m, get_attribute(m, optimizer, "step"), [], {})


def _optimizers(m: Machine, owner: Object) -> list[Any]:
    found = owner.cls.find("configure_optimizers")
    if not found or not isinstance(found[0], Function):
        return []
    value = call(m, found[0], [owner], {})
    if isinstance(value, dict):
        value = value.get("optimizer")
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], list):
        value = value[0]
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return [v for v in values if isinstance(v, Object)]


def _given(optimizers: list[Any]) -> Any:
    from .values import List, Native

    return Native(
        "optimizers", lambda m, args, kwargs: optimizers[0] if len(optimizers) == 1 else List(optimizers) or Unknown()
    )
