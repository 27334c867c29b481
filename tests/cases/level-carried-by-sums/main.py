"""Structural time series, fitted online: level + weekday effect + trend."""
import math

import torch
from torch import nn


class Effects(nn.Module):
    def __init__(self):
        super().__init__()
        self.weekday = nn.Parameter(torch.zeros(7))
        self.trend = nn.Parameter(torch.zeros(()))

    def move(self, level, day):
        return level + self.trend + self.weekday[day % 7]


def sales(n):
    g = torch.Generator().manual_seed(1)
    base = torch.arange(n) * 0.03 + torch.tensor([math.sin(2 * math.pi * d / 7) for d in range(n)])
    return base + 0.05 * torch.randn(n, generator=g)


def fit(series, lr=0.01):
    effects = Effects()
    optimizer = torch.optim.SGD(effects.parameters(), lr=lr)
    level = torch.zeros(())
    errors = []
    for day, seen in enumerate(series):
        level = effects.move(level, day)
        loss = (level - seen) ** 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        errors.append(loss.item())
    return effects, errors


effects, errors = fit(sales(42))
print("RESULT", f"{sum(errors):.6g}", f"{effects.trend.item():.6g}", f"{effects.weekday.abs().sum().item():.6g}")
