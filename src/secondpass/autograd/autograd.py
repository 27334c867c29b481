# SPDX-License-Identifier: BSD-3-Clause
"""`torch.autograd`: passes from functions, functions of one's own, and hooks on what is saved."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from . import function
from .function import Function
from .methods import Tensor as Variable
from .passes import backward, grad
from .state import enable_grad, no_grad, set_grad_enabled, state

__all__ = [
    "Function", "Variable", "backward", "enable_grad", "function", "grad", "graph", "no_grad", "set_grad_enabled",
]  # fmt: skip


class saved_tensors_hooks:
    """Hands what nodes save to `pack`, and what that returned to `unpack`; the innermost pair acts."""

    def __init__(self, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        self.pair = (pack, unpack)

    def __enter__(self) -> None:
        state.hooks = (*state.hooks, self.pair)

    def __exit__(self, *_: object) -> None:
        state.hooks = state.hooks[:-1]


graph = SimpleNamespace(saved_tensors_hooks=saved_tensors_hooks)
