# SPDX-License-Identifier: BSD-3-Clause
"""Lightning's loop around a `training_step`: forward, zero_grad, backward, step, for a few batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..interpreter.attributes import get_attribute
from ..interpreter.calls import call
from ..interpreter.library import models
from ..interpreter.machine import Machine
from ..interpreter.values import List, Native, Object, Tensor, Unknown
from .passes import backward
from .training import defines, rounds, tell

__all__ = ["fit"]


def fit(m: Machine, owner: Object) -> None:
    """Trains a module as Lightning's Trainer would, by automatic optimization unless the module says otherwise."""
    step = defines(owner, "training_step")
    if step is None:
        return
    optimizers = _optimizers(m, owner)
    owner.attrs["optimizers"] = _given(optimizers)
    tell(m, owner, "on_fit_start")
    tell(m, owner, "on_train_start")

    def turn(act: Callable[..., Any]) -> None:
        value = act("training_step", [Unknown(plain=True), Unknown(plain=True)])
        loss = value.get("loss") if isinstance(value, dict) else value
        if owner.attrs.get("automatic_optimization") is not False and isinstance(loss, Tensor):
            for optimizer in optimizers[:1]:
                call(m, get_attribute(m, optimizer, "zero_grad"), [], {})
            _backward(m, owner, loss)
            for optimizer in optimizers[:1]:
                call(m, get_attribute(m, optimizer, "step"), [], {})
        tell(m, owner, "on_train_batch_end", Unknown(), Unknown(plain=True), Unknown(plain=True))
        # An epoch may be as short as one batch: what its end empties does not grow for ever.
        tell(m, owner, "on_train_epoch_end")

    rounds(m, owner, step, turn)


def _backward(m: Machine, owner: Object, loss: Tensor) -> None:
    """The pass, as the module makes it where it has a way of its own."""
    own = defines(owner, "backward")
    if own is None:
        backward(m, [loss], {})
        return
    names = own.node.args
    # Once it was handed the trainer first, then the loss, the optimizer and its number.
    before = [Unknown(plain=True)] if len(names.posonlyargs) + len(names.args) > 4 else []
    call(m, own, [owner, *before, loss, *(Unknown(plain=True) for _ in range(2))], {})


def _optimizers(m: Machine, owner: Object) -> list[Any]:
    found = defines(owner, "configure_optimizers")
    if found is None:
        return []
    value = call(m, found, [owner], {})
    if isinstance(value, dict):
        value = value.get("optimizer")
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], list):
        value = value[0]
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return [v for v in values if isinstance(v, Object)]


def _given(optimizers: list[Any]) -> Any:
    return Native(
        "optimizers", lambda m, args, kwargs: optimizers[0] if len(optimizers) == 1 else List(optimizers) or Unknown()
    )


def _fit(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    model = args[1] if len(args) > 1 else kwargs.get("model")
    if isinstance(model, Object) and model.cls.derives("pytorch_lightning.LightningModule"):
        fit(m, model)


models(
    "pytorch_lightning.Trainer",
    __init__=lambda m, args, kwargs: None,
    fit=_fit,
    **{n: lambda m, args, kwargs: Unknown(plain=True) for n in "test validate predict save_checkpoint".split()},
)
