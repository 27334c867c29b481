# SPDX-License-Identifier: BSD-3-Clause
"""What is measured: a model with several losses of one output, trained by keep and by what people use today."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from _keep_measure import Step
from _keep_models import Subject
from torch import nn
from torch.autograd.graph import save_on_cpu

import secondpass


class Task:
    """One model, its input, and several losses of one output."""

    def __init__(self, subject: Subject, losses: int, dtype: torch.dtype | None = None, autocast: bool = False) -> None:
        self.subject, self.losses = subject, losses
        self.model = subject.trunk.to(dtype) if dtype is not None else subject.trunk
        parameter = next(self.model.parameters())
        self.device, kind = parameter.device.type, parameter.dtype
        if dtype is not None:
            subject.inputs = {k: v.to(dtype) if v.is_floating_point() else v for k, v in subject.inputs.items()}
        self.heads = nn.ModuleList(nn.Linear(subject.width, 1) for _ in range(losses)).to(parameter.device, kind)
        self.parameters = [*self.model.parameters(), *self.heads.parameters()]
        self.optimizer = torch.optim.SGD(self.parameters, lr=1e-6)
        for value in self.parameters:
            value.grad = torch.zeros_like(value)
        self.alive: Any = None  # what a loop keeps alive into its next turn
        self._autocast = autocast

    def cast(self) -> Any:
        return torch.autocast(self.device, torch.bfloat16) if self._autocast else contextlib.nullcontext()

    def forward(self, call: Callable[..., Any]) -> torch.Tensor:
        with self.cast():
            return self.subject.features(call(**self.subject.inputs))

    def loss(self, number: int, out: torch.Tensor) -> torch.Tensor:
        with self.cast():
            return self.heads[number](out).float().square().mean()

    def step(self, call: Callable[..., Any], retain: bool, around: Any = contextlib.nullcontext) -> None:
        self.optimizer.zero_grad(set_to_none=False)
        with around():
            out = self.forward(call)
        found = []
        for number in range(self.losses):
            loss = self.loss(number, out)
            loss.backward(retain_graph=retain and number < self.losses - 1)
            found.append(loss)
        self.optimizer.step()
        self.alive = (out, found)

    def plain(self) -> None:
        self.step(self.model, True)

    def checkpointed(self) -> None:
        self.subject.switch(True)
        try:
            self.step(self.model, True)
        finally:
            self.subject.switch(False)

    def on_cpu(self) -> None:
        self.step(self.model, True, lambda: save_on_cpu(pin_memory=self.device == "cuda"))

    def all_losses(self) -> list[torch.Tensor]:
        out = self.forward(self.model)
        return [self.loss(number, out) for number in range(self.losses)]

    def summed(self) -> None:
        self.optimizer.zero_grad(set_to_none=False)
        found = self.all_losses()
        secondpass.backward(found)
        self.optimizer.step()
        self.alive = found

    def single(self) -> None:
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.loss(0, self.forward(self.model))
        loss.backward()
        self.optimizer.step()
        self.alive = loss

    def kept(self, **options: Any) -> Step:
        call = secondpass.keep(self.model, **options)

        def step() -> None:
            self.step(call, False)

        step.call = call
        return step

    def torchjd(self) -> Step | None:
        try:
            from torchjd.aggregation import Sum
            from torchjd.autojac import backward
        except ImportError:
            return None
        try:
            from torchjd.autojac import jac_to_grad
        except ImportError:
            jac_to_grad = None

        def step() -> None:
            self.optimizer.zero_grad(set_to_none=False)
            found = self.all_losses()
            if jac_to_grad is None:
                backward(found, Sum(), inputs=self.parameters)
            else:
                backward(found, inputs=self.parameters)
                jac_to_grad(self.parameters, Sum())
            self.optimizer.step()
            self.alive = found

        return step
