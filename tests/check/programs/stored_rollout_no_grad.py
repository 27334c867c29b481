import torch
from torch import nn


class Buffer:
    def __init__(self):
        self.values = []

    def add(self, v):
        self.values.append(v)

    def batches(self, epochs):
        v = torch.stack(self.values)
        for _ in range(epochs):
            yield v


value = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
policy = nn.Linear(3, 2)
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
for it in range(5):
    buf, seen = Buffer(), []
    for t in range(8):
        s = torch.randn(3)
        seen.append(s)
        with torch.no_grad():
            buf.add(value(s).squeeze())
    states = torch.stack(seen)
    for v in buf.batches(3):
        advantage = torch.ones(8) - v
        logp = torch.log_softmax(policy(states), -1)[:, 0]
        loss = -(logp * advantage).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
