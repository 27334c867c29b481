"""A term of the loss is computed, and then not added."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.kind, self.size = nn.Linear(8, 16), nn.Linear(16, 4), nn.Linear(16, 1)

    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.kind(h), self.size(h)


def objective(net, x, kind, size):
    logits, guess = net(x)
    of_size = F.mse_loss(guess, size)
    of_kind = F.cross_entropy(logits, kind)  # SP406
    return of_kind


def objective_of_both(net, x, kind, size):
    logits, guess = net(x)
    return F.cross_entropy(logits, kind) + F.mse_loss(guess, size)


net = Net()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(20):
    loss = objective(net, torch.randn(4, 8), torch.randint(0, 4, (4,)), torch.rand(4, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
