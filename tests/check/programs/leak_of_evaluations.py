"""What an evaluation with gradients computes is kept for every round, by its name."""

import torch
from torch import nn


class Store:
    def __init__(self):
        self.kept = {}

    def add(self, tag, value):
        self.kept.setdefault(tag, []).append(value)  # SP401


def evaluate(model, store, tag):
    for batch in torch.randn(32, 4).split(8):
        store.add(tag, model(batch))


model, store = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), Store()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for turn in range(40):
    for batch in torch.randn(32, 4).split(8):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    evaluate(model, store, f"turn {turn}")
print(len(store.kept))
