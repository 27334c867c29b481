# SPDX-License-Identifier: BSD-3-Clause
"""Runs the same program plainly, with retain_graph=True, and kept; and compares every bit that a program can see."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy
import torch
from torch import nn
from zoo import seed

from secondpass.keeper.tree import tensors


def losses(out: torch.Tensor, count: int) -> list[Callable[[], torch.Tensor]]:
    """Different losses of one output, made when they are asked for."""
    kinds = [
        lambda: out.pow(2).mean(),
        lambda: torch.sigmoid(out[0]).sum(),
        lambda: (out * torch.linspace(-1, 1, out.shape[-1])).exp().mean(),
        lambda: out.abs().sum() / 7,
    ]
    return [kinds[number % len(kinds)] for number in range(count)]


def observe(model: nn.Module, call: Callable[..., Any], passes: int, retain: bool, steps: int = 1) -> list[Any]:
    """One training program; returns everything that may differ."""
    seen: list[Any] = []
    x = torch.randn(4, 8, generator=torch.Generator().manual_seed(5), requires_grad=True)
    for step in range(steps):
        seed(step)
        model.zero_grad()
        x.grad = None
        out = call(x)
        for loss in losses(out, passes):
            loss().backward(retain_graph=retain)
            seen.append([None if p.grad is None else p.grad.clone() for p in model.parameters()] + [x.grad.clone()])
        seen.append([out.detach().clone()])
        seen.append([b.detach().clone() for b in model.buffers()])
        seen.append([torch.get_rng_state().clone(), random.random(), float(numpy.random.rand())])
        seen.append([copy.copy(getattr(m, "calls", None)) for m in model.modules()])
        seen.append([list(getattr(m, "trail", ())) for m in model.modules()])
    return seen


def differences(one: list[Any], other: list[Any]) -> list[str]:
    """Where two observations differ in a bit."""
    found = []
    for place, (a, b) in enumerate(zip(one, other, strict=True)):
        for inner, (left, right) in enumerate(zip(a, b, strict=True)):
            if isinstance(left, torch.Tensor):
                left, right = (value.contiguous().reshape(-1).view(torch.uint8) for value in (left, right))
                same = torch.equal(left, right)
            else:
                same = left == right
            if not same:
                found.append(f"{place}.{inner}")
    return found


def same_bits(one: Any, other: Any) -> bool:
    left, right = list(tensors(one)), list(tensors(other))
    return len(left) == len(right) and all(torch.equal(a, b) for a, b in zip(left, right, strict=True))
