# SPDX-License-Identifier: BSD-3-Clause
"""Training frameworks: what they call, and what their helpers do."""

from __future__ import annotations

from typing import Any

from . import layers
from .library import models
from .machine import Machine
from .passes import backward
from .values import Tensor, Unknown

__all__: list[str] = []


def _backward(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    loss = args[1] if len(args) > 1 else kwargs.get("loss", Unknown())
    backward(m, [loss], {k: v for k, v in kwargs.items() if k in ("retain_graph", "create_graph")})


def _prepare(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return args[1] if len(args) == 2 else tuple(args[1:])


def _unwrap(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return args[1] if len(args) > 1 else Unknown()


def _accumulate(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> Unknown:
    # Inside `accumulate`, steps and zero_grads only act on some turns.
    for leaf in m.engine.leaves:
        leaf.doubt = True
    return Unknown(plain=True)


models(
    "accelerate.Accelerator",
    __init__=lambda m, args, kwargs: None,
    backward=_backward,
    prepare=_prepare,
    unwrap_model=_unwrap,
    accumulate=_accumulate,
    clip_grad_norm_=lambda m, args, kwargs: Tensor(False),
    gather=_unwrap,
    print=lambda m, args, kwargs: None,
    log=lambda m, args, kwargs: None,
    autocast=lambda m, args, kwargs: Unknown(plain=True),
    no_sync=lambda m, args, kwargs: Unknown(plain=True),
)

models(
    "pytorch_lightning.Fabric",
    __init__=lambda m, args, kwargs: None,
    backward=_backward,
    setup=_prepare,
    setup_module=_prepare,
    setup_optimizers=_prepare,
    setup_dataloaders=_prepare,
    launch=lambda m, args, kwargs: None,
    to_device=_unwrap,
    clip_gradients=lambda m, args, kwargs: Tensor(False),
    print=lambda m, args, kwargs: None,
    log=lambda m, args, kwargs: None,
    autocast=lambda m, args, kwargs: Unknown(plain=True),
    no_backward_sync=lambda m, args, kwargs: Unknown(plain=True),
)

models(
    "pytorch_lightning.LightningModule",
    "torch.nn.Module",
    __init__=lambda m, args, kwargs: None,
    log=lambda m, args, kwargs: None,
    log_dict=lambda m, args, kwargs: None,
    save_hyperparameters=lambda m, args, kwargs: None,
    manual_backward=_backward,
    print=lambda m, args, kwargs: None,
)

_BASES = layers  # the modules must be there before classes that derive from them
