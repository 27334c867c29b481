# SPDX-License-Identifier: BSD-3-Clause
"""Four small networks of the usual kinds, each as a function from a device (and a size) to a loss function."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

__all__ = ["MODELS", "gpt", "lstm", "resnet", "unet"]

Forward = Callable[[], torch.Tensor]


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.norm, self.last = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x + self.last(self.two(F.relu(self.norm(self.one(x))))))


def resnet(device: str, size: int = 1) -> Forward:
    width = 16 * size
    net = nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        *(Residual(width) for _ in range(3)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(width, 10),
    ).to(device)
    x, y = torch.randn(4 * size, 3, 32, 32, device=device), torch.randint(10, (4 * size,), device=device)
    return lambda: F.cross_entropy(net(x), y)


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = (z.view(b, t, 4, c // 4).transpose(1, 2) for z in self.qkv(self.first(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        x = x + self.out(mixed)
        return x + self.mlp(self.second(x))


def gpt(device: str, size: int = 1, layers: int = 3) -> Forward:
    width = 64 * size
    net = nn.Sequential(nn.Embedding(200, width), *(Block(width) for _ in range(layers)), nn.Linear(width, 200))
    net.to(device)
    x = torch.randint(200, (4, 64), device=device)
    return lambda: F.cross_entropy(net(x).flatten(0, 1), x.flatten())


def lstm(device: str, size: int = 1) -> Forward:
    width = 64 * size
    cell, net, head = nn.LSTMCell(8, width), nn.LSTM(width, width, 2, batch_first=True), nn.Linear(width, 1)
    for module in (cell, net, head):
        module.to(device)
    x = torch.randn(16, 20, 8, device=device)

    def loss() -> torch.Tensor:
        h = c = torch.zeros(16, width, device=device)
        states = []
        for t in range(x.shape[1]):
            h, c = cell(x[:, t], (h, c))
            states.append(h)
        return (head(net(torch.stack(states, 1))[0]) ** 2).mean()

    return loss


class Unet(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.GroupNorm(4, width), nn.SiLU())
        self.inner = nn.Sequential(nn.Conv2d(width, 2 * width, 3, padding=1), nn.SiLU())
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.last = nn.Conv2d(2 * width, 1, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = self.down(x)
        return self.last(torch.cat([self.up(self.inner(F.max_pool2d(skip, 2))), skip], 1))


def unet(device: str, size: int = 1) -> Forward:
    net = Unet(16 * size).to(device)
    x = torch.randn(2 * size, 1, 32, 32, device=device)
    return lambda: F.mse_loss(net(x), x)


MODELS = {"resnet": resnet, "gpt": gpt, "lstm": lstm, "unet": unet}
