"""Steady temperature along a rod with a hot spot, solved with a small network."""
import math

import torch
from torch import nn

from derivatives import nth_derivative

CONDUCTIVITY = 0.7


class Ansatz(nn.Module):
    """Network times x(1-x), so that both ends stay at zero."""

    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return x * (1 - x) * self.body(x)


def source(x):
    return 4.0 * torch.sin(math.pi * x) + torch.exp(-((x - 0.3) / 0.1) ** 2)


def residual(temperature, x):
    bend = nth_derivative(temperature, x, order=2)
    return CONDUCTIVITY * bend + source(x)


def collocation(n):
    return torch.rand(n, 1).requires_grad_()


def solve(net, iterations=150, n=40, lr=3e-3):
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    for it in range(iterations):
        x = collocation(n)
        loss = residual(net(x), x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
        if it % 50 == 0:
            print(f"{it:4d} {loss.item():.5f}")
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(83)
    net = Ansatz()
    last = solve(net)
    with torch.no_grad():
        probe = net(torch.linspace(0, 1, 5).unsqueeze(1)).squeeze()
    print("RESULT", f"{last:.6g}", *(f"{v:.6g}" for v in probe[1:4].tolist()))
