"""A hook on a layer that is found by its name keeps every output."""

from collections import OrderedDict, defaultdict

import torch
from torch import nn

model = nn.Sequential(OrderedDict([("lift", nn.Linear(4, 8)), ("act", nn.ReLU()), ("read", nn.Linear(8, 1))]))
records = defaultdict(list)


def keep(name):
    def hook(module, given, out):
        records[name].append(out)  # SP401

    return hook


for name, layer in model.named_modules():
    if name == "lift":
        layer.register_forward_hook(keep(name))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(50):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
