# unreached-parameter: model
import copy

import torch
from torch import nn


def pretrain(model, data):
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    model = copy.deepcopy(model)  #! failed
    for x in data:
        loss = (model(x) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 4))
pretrain(model, torch.randn(12, 5, 4))
print(model(torch.ones(4)))
