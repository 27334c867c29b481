# SPDX-License-Identifier: BSD-3-Clause
"""What is measured: a transformer with several losses of one output, trained by keep and by what people use today."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from typing import Any

import torch
from _keep_measure import Step
from torch import nn
from torch.autograd.graph import save_on_cpu
from torch.utils.checkpoint import checkpoint

import secondpass


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return x + self.dropout(self.down(nn.functional.gelu(self.up(self.norm2(x)))))


class Transformer(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, words: int = 256, dropout: float = 0.1) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.checkpointed = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return self.norm(x)


class Task:
    """One model, its input, and several losses of one output."""

    def __init__(self, args: argparse.Namespace, losses: int) -> None:
        torch.manual_seed(0)
        self.device, self.losses = args.device, losses
        dtype = torch.bfloat16 if args.bf16 else torch.float32
        torch.set_default_dtype(dtype)
        with torch.device(args.device):
            self.model = Transformer(args.layers, args.width, args.heads, dropout=args.dropout)
            self.heads = nn.ModuleList(nn.Linear(args.width, 1) for _ in range(losses))
        torch.set_default_dtype(torch.float32)
        self.x = torch.randint(0, 256, (args.batch, args.length), device=args.device)
        self.parameters = [*self.model.parameters(), *self.heads.parameters()]
        self.optimizer = torch.optim.SGD(self.parameters, lr=1e-6)
        for value in self.parameters:
            value.grad = torch.zeros_like(value)
        self.alive: Any = None  # what a loop keeps alive into its next turn

    def step(self, call: Callable[..., Any], retain: bool, around: Any = contextlib.nullcontext) -> None:
        self.optimizer.zero_grad(set_to_none=False)
        with around():
            out = call(self.x)
        found = []
        for number, head in enumerate(self.heads):
            loss = head(out).square().mean()
            loss.backward(retain_graph=retain and number < self.losses - 1)
            found.append(loss)
        self.optimizer.step()
        self.alive = (out, found)

    def plain(self) -> None:
        self.step(self.model, True)

    def checkpointed(self) -> None:
        self.model.checkpointed = True
        try:
            self.step(self.model, True)
        finally:
            self.model.checkpointed = False

    def on_cpu(self) -> None:
        self.step(self.model, True, lambda: save_on_cpu(pin_memory=self.device == "cuda"))

    def summed(self) -> None:
        self.optimizer.zero_grad(set_to_none=False)
        out = self.model(self.x)
        found = [head(out).square().mean() for head in self.heads]
        secondpass.backward(*found)
        self.optimizer.step()
        self.alive = (out, found)

    def single(self) -> None:
        self.optimizer.zero_grad(set_to_none=False)
        out = self.model(self.x)
        loss = self.heads[0](out).square().mean()
        loss.backward()
        self.optimizer.step()
        self.alive = (out, loss)

    def kept(self, **options: Any) -> Step:
        call = secondpass.keep(self.model, units=Block, **options)

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
            out = self.model(self.x)
            found = [head(out).square().mean() for head in self.heads]
            if jac_to_grad is None:
                backward(found, Sum(), inputs=self.parameters)
            else:
                backward(found, inputs=self.parameters)
                jac_to_grad(self.parameters, Sum())
            self.optimizer.step()
            self.alive = (out, found)

        return step
