# SPDX-License-Identifier: BSD-3-Clause
"""Training frameworks: what they call, and what their helpers do."""

from __future__ import annotations

from typing import Any

from ..interpreter.library import models
from ..interpreter.loops import lengthen
from ..interpreter.machine import Machine
from ..interpreter.values import Object, Tensor, Unknown
from . import layers  # noqa: F401  (modules must be there before classes that derive from them)
from .passes import backward

__all__: list[str] = []


def _backward(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    loss = args[1] if len(args) > 1 else kwargs.get("loss", Unknown())
    backward(m, [loss], {k: v for k, v in kwargs.items() if k in ("retain_graph", "create_graph")})


def _manual_backward(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    # Lightning refuses it where it makes the passes itself.
    args[0].attrs["automatic_optimization"] = False
    _backward(m, args, kwargs)


def _prepare(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return args[1] if len(args) == 2 else tuple(args[1:])


def _unwrap(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return args[1] if len(args) > 1 else Unknown()


def _nothing(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    return None


def _manager(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Unknown:
    return Unknown(plain=True)


def _norm(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Tensor:
    return Tensor(False)


_LOGGING: dict[str, Any] = {"__init__": _nothing, "log": _nothing, "print": _nothing}
_SCALING: dict[str, Any] = {**_LOGGING, "backward": _backward, "autocast": _manager}

_STEPS = "gradient_accumulation_steps"
_LONGEST = 8
"""Accumulation over more turns than this is not looked at to its end."""


def _accelerator(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    plugin = kwargs.get("gradient_accumulation_plugin")
    args[0].attrs[_STEPS] = kwargs.get(_STEPS, args[4] if len(args) > 4 else Unknown(plain=True) if plugin else 1)
    args[0].attrs["sync_gradients"] = True


def _accelerate(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    for value in args[1:]:
        if isinstance(value, Object) and value.cls.derives("torch.optim.Optimizer"):
            value.hidden["waits"] = args[0]
    return _prepare(m, args, kwargs)


def _accumulate(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Unknown:
    """Inside `accumulate`, and until it is entered again, the optimizers that were prepared act on some turns only."""
    owner = args[0]
    every = owner.attrs.get(_STEPS)
    if type(every) is int and every > 0:
        owner.hidden["turn"] = turn = owner.hidden.get("turn", 0) + 1
        owner.attrs["sync_gradients"] = turn % every == 0
        lengthen(m, every, _LONGEST)
    else:
        for leaf in m.engine.leaves:
            leaf.doubt = True
    return Unknown(plain=True)


models(
    "accelerate.Accelerator",
    **{**_SCALING, "__init__": _accelerator},
    prepare=_accelerate,
    prepare_optimizer=_accelerate,
    unwrap_model=_unwrap,
    **dict.fromkeys(("gather", "gather_for_metrics", "reduce", "pad_across_processes"), _unwrap),
    **dict.fromkeys(("wait_for_everyone", "save_state", "end_training", "free_memory", "init_trackers"), _nothing),
    accumulate=_accumulate,
    clip_grad_norm_=_norm,
    no_sync=_manager,
)

models(
    "pytorch_lightning.Fabric",
    **_SCALING,
    **dict.fromkeys(("setup", "setup_module", "setup_optimizers", "setup_dataloaders"), _prepare),
    launch=_nothing,
    to_device=_unwrap,
    clip_gradients=_norm,
    no_backward_sync=_manager,
)

models(
    "pytorch_lightning.LightningModule",
    "torch.nn.Module",
    **_LOGGING,
    log_dict=_nothing,
    save_hyperparameters=_nothing,
    manual_backward=_manual_backward,
    backward=_backward,
)
