"""Quantile forecasts by an RNN written as a scan over frozen records; no nn.Module, everything is a function."""
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from operator import add
from typing import Any, Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

QUANTILES = torch.tensor([0.1, 0.5, 0.9])
Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Carry:
    h: Tensor
    level: Tensor

    def cut(self) -> "Carry":
        return replace(self, h=self.h.detach(), level=self.level.detach())


def initial(seed: int, hidden: int = 14) -> Weights:
    g = torch.Generator().manual_seed(seed)
    shapes = {"wx": (2, hidden), "wh": (hidden, hidden), "wo": (hidden, 3), "bh": (hidden,), "bo": (3,), "mix": ()}
    return {k: (0.3 * torch.randn(s, generator=g)).requires_grad_() for k, s in shapes.items()}


def cell(w: Weights, carry: Carry, x: Tensor) -> tuple[Carry, Tensor]:
    rate = torch.sigmoid(w["mix"])
    level = (1 - rate) * carry.level + rate * x
    h = torch.tanh(torch.stack([x, x - level], -1) @ w["wx"] + carry.h @ w["wh"] + w["bh"])
    middle, below, above = (h @ w["wo"] + w["bo"]).unbind(-1)
    bands = torch.stack([middle - F.softplus(below), middle, middle + F.softplus(above)], -1)
    return Carry(h, level), level.unsqueeze(-1) + bands


def scan(f: Callable[..., tuple[Any, Any]], carry: Any, xs: Tensor) -> tuple[Any, Tensor]:
    def push(so_far: tuple[Any, tuple[Any, ...]], x: Tensor) -> tuple[Any, tuple[Any, ...]]:
        carry, y = f(so_far[0], x)
        return carry, (*so_far[1], y)

    carry, ys = reduce(push, xs, (carry, ()))
    return carry, torch.stack(ys)


def pinball(y: Tensor, bands: Tensor) -> Tensor:
    e = y.unsqueeze(-1) - bands
    return torch.maximum(QUANTILES * e, (QUANTILES - 1) * e).mean()


def windows(series: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    for start in range(0, len(series) - size, size):
        yield series[start:start + size], series[start + 1:start + size + 1]


def train(w: Weights, series: Tensor, size: int = 15) -> list[float]:
    adam = torch.optim.Adam(w.values(), lr=1e-2)
    lanes = series.shape[1]
    losses = []
    for _ in range(3):
        carry = Carry(torch.zeros(lanes, w["bh"].numel()), series[0])
        for x, y in windows(series, size):
            carry, bands = scan(lambda c, v: cell(w, c, v), carry.cut(), x)
            loss = pinball(y, bands)
            adam.zero_grad()
            loss.backward()
            adam.step()
            losses.append(loss.item())
    return losses


def demand(steps: int, lanes: int) -> Tensor:
    g = torch.Generator().manual_seed(3)
    t = torch.arange(steps).unsqueeze(1)
    season = torch.sin(2 * torch.pi * t / 24 + torch.arange(lanes))
    return season + reduce(add, (0.1 * torch.randn(steps, lanes, generator=g) for _ in range(2)))


def main() -> None:
    w = initial(seed=21)
    series = demand(151, lanes=6)
    losses = train(w, series)
    print("first windows", [round(v, 4) for v in islice(losses, 3)], "last", round(losses[-1], 4))
    with torch.no_grad():
        start = Carry(torch.zeros(6, 14), series[0])
        _, bands = scan(lambda c, v: cell(w, c, v), start, series[:-1])
        inside = ((series[1:] > bands[..., 0]) & (series[1:] < bands[..., 2])).float().mean().item()
    print(f"covered {inside:.3f} (0.8 wanted)")
    print("RESULT", f"{losses[-1]:.6g} {sum(losses):.6g} {inside:.6g} {sum(v.abs().sum().item() for v in w.values()):.6g}")


main()
