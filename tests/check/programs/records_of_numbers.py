from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Result:
    step: int
    loss: float


net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
records, batches = [], []
for step in range(50):
    x = torch.randn(4, 3)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    records.append(Result(step, loss.item()))
    batches.append({"x": x, "out": net(x).detach()})
