# SPDX-License-Identifier: BSD-3-Clause
"""Lightning's loop around a `training_step`: forward, zero_grad, backward, step, for a few batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..interpreter.attributes import get_attribute, set_attribute
from ..interpreter.calls import call
from ..interpreter.library import models
from ..interpreter.machine import Machine
from ..interpreter.values import Dict, List, Native, Object, Tensor, Unknown
from .passes import backward
from .training import defines, rounds, tell

__all__ = ["fit"]


def fit(m: Machine, owner: Object, trainer: Object | None = None) -> None:
    """Trains a module as Lightning's Trainer would, by automatic optimization unless the module says otherwise. Callbacks are
    told of what happens before the module is."""
    step = defines(owner, "training_step")
    if step is None:
        return
    optimizers = _optimizers(m, owner)
    owner.attrs["optimizers"] = _given(optimizers)
    callbacks = _callbacks(trainer)

    def told(name: str, *args: Any) -> None:
        for callback in callbacks:
            tell(m, callback, name, trainer, owner, *args)
        tell(m, owner, name, *args)

    told("on_fit_start")
    told("on_train_start")

    def turn(act: Callable[..., Any]) -> None:
        batch, index = Unknown(plain=True), Unknown(plain=True)
        told("on_train_batch_start", batch, index)
        value = act("training_step", [batch, index])
        loss = value.get("loss") if isinstance(value, dict) else value
        if owner.attrs.get("automatic_optimization") is not False and isinstance(loss, Tensor):
            for optimizer in optimizers[:1]:
                call(m, get_attribute(m, optimizer, "zero_grad"), [], {})
            told("on_before_backward", loss)
            _backward(m, owner, loss)
            told("on_after_backward")
            for optimizer in optimizers[:1]:
                call(m, get_attribute(m, optimizer, "step"), [], {})
        if trainer is not None:
            set_attribute(m, trainer, "global_step", trainer.attrs["global_step"] + 1)
        # What the hooks get of the loss is a copy without history.
        outputs = Dict({"loss": Tensor(False)}) if isinstance(loss, Tensor) else Unknown()
        told("on_train_batch_end", outputs, batch, index)
        # An epoch may be as short as one batch: what its end empties does not grow for ever.
        told("on_train_epoch_end")

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


def _init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    given = kwargs.get("callbacks")
    args[0].attrs["callbacks"] = List(
        [given] if isinstance(given, Object) else given if isinstance(given, list) else []
    )
    args[0].attrs["global_step"] = 0


def _callbacks(trainer: Object | None) -> list[Object]:
    given = trainer.attrs["callbacks"] if trainer is not None else ()
    return [c for c in given if isinstance(c, Object)] if isinstance(given, list) else []


def _fit(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    model = args[1] if len(args) > 1 else kwargs.get("model")
    if isinstance(model, Object) and model.cls.derives("pytorch_lightning.LightningModule"):
        fit(m, model, args[0])


models("pytorch_lightning.Callback")
models(
    "pytorch_lightning.Trainer",
    __init__=_init,
    fit=_fit,
    **{n: lambda m, args, kwargs: Unknown(plain=True) for n in "test validate predict save_checkpoint".split()},
)
