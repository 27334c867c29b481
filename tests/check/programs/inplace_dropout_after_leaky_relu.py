"""An activation that works in place has saved its result; the dropout behind it changes that."""

import torch
from torch import nn

score = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2, inplace=True), nn.Dropout(inplace=True), nn.Linear(8, 1))
optimizer = torch.optim.SGD(score.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    score(torch.randn(4, 6)).mean().backward()  # SP202
    optimizer.step()
