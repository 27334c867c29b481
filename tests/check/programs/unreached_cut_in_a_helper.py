"""A helper that was written for data cuts off what is trained."""

import torch
from torch import nn


def encoding(x):
    x = x.detach()  # SP406
    return torch.cat([torch.sin(x), torch.cos(x)], -1)


offsets, field = nn.Embedding(6, 1), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam([*offsets.parameters(), *field.parameters()])
for _ in range(10):
    position = torch.rand(4, 1) + offsets(torch.randint(0, 6, (4,)))
    loss = (field(encoding(position)) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
