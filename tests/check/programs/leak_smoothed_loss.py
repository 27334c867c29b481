import torch
from torch import nn


def stream(n):
    for _ in range(n):
        yield torch.randn(4, 3)


class Meter:
    def __init__(self):
        self.smooth = 0.0

    def update(self, value):
        self.smooth = 0.9 * self.smooth + 0.1 * value  # SP401


net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
meter = Meter()
for x in stream(50):
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    meter.update(loss)
