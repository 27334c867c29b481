"""A method that the program gives to the library's own class puts the layers in: the network is not empty."""

import torch
from torch import nn


def add(self, module):
    self.add_module(str(len(self) + 1), module)


nn.Module.add = add
model = nn.Sequential()
model.add(nn.Linear(4, 8))
model.add(nn.ReLU())
model.add(nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
