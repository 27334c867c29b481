"""Every block gets the same input, and the next one overwrites what it gave."""

import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(3))
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        for block in self.blocks:
            h = block(x)  # SP406
        return self.out(h)


model = Stack()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(10):
    loss = model(torch.randn(4, 6)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
