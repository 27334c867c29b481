# SPDX-License-Identifier: BSD-3-Clause
"""Training programs over models that others wrote, and everything they can see."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import numpy
import torch
from torch import nn

from secondpass.keeper.tree import tensors

POLICIES: dict[str, dict[str, Any]] = {
    "retain": {"policy": "retain"},
    "recompute": {"policy": "recompute"},
    "offload": {"policy": "offload"},
}


def seed(number: int) -> None:
    torch.manual_seed(number)
    random.seed(number)
    numpy.random.seed(number)


def losses_of(out: Any) -> list[torch.Tensor]:
    """What a program may want of one output of a library's model: its own loss, and others of its logits, if it has any."""
    if "logits" not in out or "loss" not in out:
        parts = [part for part in tensors(out, objects=True) if part.grad_fn is not None]
        return [torch.stack([part.pow(2).mean() for part in parts]).sum(), parts[0].mean(), parts[-1].sin().sum()]
    logits = out["logits"].float()
    return [out["loss"], logits.pow(2).mean(), torch.sigmoid(logits[..., :2]).sum()]


def flat(value: Any) -> list[Any]:
    """All tensors of an output, caches and tuples included, in a fixed order."""
    if isinstance(value, torch.Tensor):
        return [value.detach().clone()]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in flat(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flat(item)]
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return [leaf for name, item in sorted(vars(value).items()) if not callable(item) for leaf in flat(item)]
    return [value] if isinstance(value, (int, float, str, bool, type(None))) else []


def observe(
    model: nn.Module,
    call: Callable[..., Any],
    inputs: Callable[[int], dict[str, Any]],
    *,
    retain: bool,
    steps: int = 4,
    passes: int = 3,
    train: bool = False,
) -> list[Any]:
    """Runs one program; returns every bit that it can see."""
    seen: list[Any] = []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01) if train else None
    for step in range(steps):
        seed(step)
        model.zero_grad()
        out = call(**inputs(step))
        losses = losses_of(out)[:passes]
        for number, loss in enumerate(losses):
            loss.backward(retain_graph=True if retain and number < len(losses) - 1 else None)
            seen += [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        seen += flat(out)
        seen += [buffer.clone() for buffer in model.buffers()]
        seen += [torch.get_rng_state(), random.random(), float(numpy.random.rand())]
        if optimizer is not None:
            optimizer.step()
    return seen


def differences(one: list[Any], other: list[Any]) -> list[int]:
    """Where two observations differ in a bit."""
    assert len(one) == len(other), (len(one), len(other))
    return [place for place, (a, b) in enumerate(zip(one, other, strict=True)) if not same(a, b)]


def same(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return type(a) is type(b) and a == b
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    one, two = (value.detach().contiguous().reshape(-1).view(torch.uint8) for value in (a, b))
    return torch.equal(one, two)


def live_bytes() -> int:
    """The bytes of all tensors that are alive, each storage once."""
    gc.collect()
    sizes = {}
    for thing in gc.get_objects():
        if isinstance(thing, torch.Tensor) and thing.layout == torch.strided and thing.device.type == "cpu":
            storage = thing.untyped_storage()
            sizes[storage._cdata] = storage.nbytes()
    return sum(sizes.values())
