"""SiLU keeps what it got, also where it works in place: what it gave may be changed."""

import torch
from torch import nn

score = nn.Sequential(nn.Linear(6, 8), nn.SiLU(inplace=True), nn.Dropout(0.1, inplace=True), nn.Linear(8, 1))
optimizer = torch.optim.SGD(score.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    score(torch.randn(4, 6)).mean().backward()
    optimizer.step()
