"""A meter with an operator of its own keeps an average that is built from itself."""

import torch
from torch import nn


class Meter:
    def __init__(self):
        self.average = 0.0

    def __lshift__(self, value):
        self.average = 0.9 * self.average + 0.1 * value  # SP401
        return self


model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
meter = Meter()
for _ in range(50):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    meter << loss
print(float(meter.average))
