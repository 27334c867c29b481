# SPDX-License-Identifier: BSD-3-Clause
"""`torch.optim`. Optimizers write over the parameters' memory, and say so to the version counter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..methods import Tensor
from ..nn.modules import zero_grads
from ..tensors import bump
from ..thread_state import enable_grad, state
from . import lr_scheduler

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]

Options = dict[str, Any]


class Optimizer:
    """Groups of parameters with their options, and what is remembered of each."""

    def __init__(self, params: Any, **defaults: Any) -> None:
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts")
        given = list(params)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        for key in ("lr", "weight_decay", "momentum", "eps"):
            if defaults.get(key, 0) < 0:
                raise ValueError(f"Invalid {key}: {defaults[key]}")
        self.defaults = defaults
        self.param_groups: list[Options] = []
        self.state: dict[Any, Options] = {}
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(dict(group))

    def add_param_group(self, group: Options) -> None:
        chosen = group["params"]
        group["params"] = [chosen] if isinstance(chosen, Tensor) else list(chosen)
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        self.param_groups.append({**self.defaults, **group})

    def parameters(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def zero_grad(self, set_to_none: bool = True) -> None:
        zero_grads(self.parameters(), set_to_none, self)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            if state.listener is not None:
                state.listener.step_begins()
            with enable_grad():
                loss = closure()
        if state.listener is not None:
            state.listener.step(self)
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    self.update(p._a, p._grad._a, group, self.state.setdefault(p, {}))
                    bump(p, "step")
        return loss

    def update(self, p: Any, g: Any, group: Options, memory: Options) -> None:
        raise NotImplementedError


class SGD(Optimizer):
    """Stochastic gradient descent with momentum."""

    def __init__(
        self, params: Any, lr: float = 1e-3, momentum: float = 0, weight_decay: float = 0, nesterov: bool = False
    ) -> None:
        super().__init__(params, lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov)

    def update(self, p: Any, g: Any, group: Options, memory: Options) -> None:
        if group["weight_decay"]:
            g = g + group["weight_decay"] * p
        if group["momentum"]:
            old = memory.get("momentum_buffer")
            memory["momentum_buffer"] = old = g.copy() if old is None else group["momentum"] * old + g
            g = g + group["momentum"] * old if group["nesterov"] else old
        p -= group["lr"] * g


class Adam(Optimizer):
    """Steps scaled by running means of gradients and of their squares."""

    decoupled, usual_decay = False, 0.0

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float | None = None,
    ) -> None:  # fmt: skip
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"Invalid beta parameters: {betas}")
        decay = self.usual_decay if weight_decay is None else weight_decay
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=decay)

    def update(self, p: Any, g: Any, group: Options, memory: Options) -> None:
        lr, decay, (first, second) = group["lr"], group["weight_decay"], group["betas"]
        if not memory:
            memory.update(step=0, exp_avg=np.zeros_like(p), exp_avg_sq=np.zeros_like(p))
        memory["step"] += 1
        if decay and self.decoupled:
            p *= 1 - lr * decay
        elif decay:
            g = g + decay * p
        mean, square = memory["exp_avg"], memory["exp_avg_sq"]
        mean += (1 - first) * (g - mean)
        square *= second
        square += (1 - second) * (g * g)
        root = np.sqrt(square)
        root /= np.sqrt(1 - second ** memory["step"])
        root += group["eps"]
        p -= lr / (1 - first ** memory["step"]) * (mean / root)


class AdamW(Adam):
    """Adam whose weight decay does not go through the running means."""

    decoupled, usual_decay = True, 1e-2
