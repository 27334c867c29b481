# SPDX-License-Identifier: BSD-3-Clause
"""Hugging Face's Trainer: its loop around `training_step` and `compute_loss`, and the models that it trains.

NOTE [ What a pretrained model gives back ]
A model of `transformers` is read as one layer: whatever is taken from its output (`outputs.loss`, `outputs["logits"]`,
`outputs[0]`) is a tensor computed from its weights. That holds inside a Trainer, which trains the model it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..interpreter.attributes import get_attribute
from ..interpreter.calls import call, instantiate
from ..interpreter.library import CLASSES, models
from ..interpreter.machine import Machine
from ..interpreter.values import Dict, List, Object, Tensor, Unknown
from . import layers  # noqa: F401  (modules must be there before classes that derive from them)
from .modules import complete, make_parameter, parameters
from .passes import backward
from .tensors import operate
from .training import defines, rounds

__all__ = ["TRAINER", "fit"]

TRAINER = "transformers.Trainer"
_OUTPUTS = "loss logits last_hidden_state pooler_output hidden_states attentions past_key_values".split()


def _forward(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Object:
    made = Object(CLASSES["transformers.ModelOutput"])
    found = Dict(depth=m.short)
    for name in _OUTPUTS:
        made.attrs[name] = found[name] = operate(m, "linear", [Tensor(False), args[0].attrs["weight"], None], {})
    made.hidden["items"] = found
    return made


def _item(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    owner, key = args[0], args[1] if len(args) > 1 else kwargs.get("key")
    values = owner.hidden["items"]
    if isinstance(key, int) and not isinstance(key, bool) and -len(values) <= key < len(values):
        return list(values.values())[key]
    return values.get(key, Unknown()) if isinstance(key, str) else Unknown()


models("transformers.ModelOutput", __getitem__=_item, get=_item)
models("transformers.PreTrainedModel", "torch.nn.Module", forward=_forward)


def _model(m: Machine) -> Object:
    made = Object(CLASSES["transformers.PreTrainedModel"])
    made.attrs["training"] = True
    made.attrs["weight"] = make_parameter(m, "weight")
    made.attrs["config"] = Unknown(plain=True)
    return made


def _init(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    owner = args[0]
    given = args[1] if len(args) > 1 else kwargs.get("model")
    owner.attrs["model"] = given if isinstance(given, Object) and given.cls.derives("torch.nn.Module") else _model(m)
    owner.attrs["args"] = args[2] if len(args) > 2 else kwargs.get("args", Unknown(plain=True))
    for name in ("optimizer", "lr_scheduler", "state", "control", "tokenizer", "processing_class", "label_smoother"):
        owner.attrs[name] = kwargs.get(name, Unknown(plain=True))
    owner.attrs["accelerator"] = instantiate(m, CLASSES["accelerate.Accelerator"], [], {})


def _compute_loss(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    model = args[1] if len(args) > 1 else kwargs.get("model")
    if isinstance(model, Object) and model.cls.derives("transformers.PreTrainedModel"):
        outputs = call(m, model, [], {})
        loss = outputs.attrs["loss"]
    else:
        outputs = call(m, model, [], {"**": Unknown()})
        loss = outputs if isinstance(outputs, Tensor) else outputs.get("loss") if isinstance(outputs, dict) else None
        loss = Unknown(node=getattr(outputs, "node", None)) if loss is None else loss
    wanted = kwargs.get("return_outputs", args[3] if len(args) > 3 else False)
    return (loss, outputs) if m.truth(wanted) else loss


def _training_step(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    owner = args[0]
    model = args[1] if len(args) > 1 else kwargs.get("model", owner.attrs.get("model"))
    batch = args[2] if len(args) > 2 else kwargs.get("inputs", Unknown(plain=True))
    batch = call(m, get_attribute(m, owner, "_prepare_inputs"), [batch], {})
    value = call(m, get_attribute(m, owner, "compute_loss"), [model, batch], {})
    loss = value[0] if isinstance(value, tuple) and value else value
    if isinstance(loss, Tensor):
        # There is no line for this pass in the program: it happens where the loss is returned.
        frame = m.frames[-1]
        line, frame.line = frame.line, m.returned[1] if m.returned and m.returned[0] is frame.module else frame.line
        backward(m, [loss], {})
        frame.line = line
    return Tensor(False)


def fit(m: Machine, owner: Object) -> None:
    """Trains as the Trainer does: one pass and one step for each call of `training_step`."""
    step = defines(owner, "compute_loss") or defines(owner, "training_step")
    model = owner.attrs.get("model")
    if step is None or not isinstance(model, Object):
        return
    params = List(parameters(model).values())
    params.kind = "complete" if complete(model) else "partial"
    optimizer = instantiate(m, CLASSES["torch.optim.AdamW"], [params], {})
    owner.attrs["optimizer"] = optimizer

    def turn(act: Callable[..., Any]) -> None:
        act("training_step", [model, Unknown(plain=True)])
        call(m, get_attribute(m, optimizer, "step"), [], {})
        call(m, get_attribute(m, optimizer, "zero_grad"), [], {})

    rounds(m, owner, step, turn)


def _train(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Unknown:
    fit(m, args[0])
    return Unknown(plain=True)


for _name in (TRAINER, "transformers.Seq2SeqTrainer", "trl.SFTTrainer", "trl.RewardTrainer", "trl.DPOTrainer"):
    models(
        _name,
        *([TRAINER] if _name != TRAINER else []),
        __init__=_init,
        compute_loss=_compute_loss,
        training_step=_training_step,
        train=_train,
        _prepare_inputs=lambda m, args, kwargs: args[1] if len(args) > 1 else Unknown(plain=True),
        **{
            n: lambda m, args, kwargs: Unknown(plain=True)
            for n in "evaluate predict log save_model push_to_hub add_callback is_world_process_zero".split()
        },
    )
