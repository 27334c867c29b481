"""The first of two passes is used by hand, then cleared: nothing is in vain."""

import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def climb(rho=0.05):
    moved = []
    with torch.no_grad():
        for p in net.parameters():
            e = rho * p.grad / (p.grad.norm() + 1e-12)
            p.add_(e)
            moved.append((p, e))
    return moved


for step, x in enumerate(torch.randn(60, 4, 3)):
    sharp = step % 3 != 0
    for _ in range(2 if sharp else 1):
        opt.zero_grad()
        net(x).pow(2).mean().backward()
        moved = climb() if sharp else []
        sharp = False
    with torch.no_grad():
        for p, e in moved:
            p.sub_(e)
    opt.step()
