import math

import torch
from torch import nn


class PINN(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], 1))


def d(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), retain_graph=True)[0]


def residual(model, x, t, alpha=0.1):
    u = model(x, t)
    u_t = d(u, t)
    u_x = d(u, x)
    u_xx = d(u_x, x)
    return u_t - alpha * u_xx


def main():
    torch.manual_seed(33)
    model = PINN()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(25):
        x = torch.rand(32, 1, requires_grad=True)
        t = torch.rand(32, 1, requires_grad=True)
        x0 = torch.rand(16, 1)
        physics = residual(model, x, t).pow(2).mean()
        start = (model(x0, torch.zeros_like(x0)) - torch.sin(math.pi * x0)).pow(2).mean()
        optimizer.zero_grad()
        (physics + start).backward()
        optimizer.step()
    print(f"RESULT {physics.item():.6g} {start.item():.6g}")


main()
