"""Weights of a task hang on the parameters that they were computed from."""

import torch
from torch import nn
from torch.nn import functional as F


class Adapted(nn.Linear):
    def __init__(self, width, classes):
        super().__init__(width, classes)
        self.weight.fast = None
        self.bias.fast = None

    def forward(self, x):
        if self.weight.fast is not None and self.bias.fast is not None:
            return F.linear(x, self.weight.fast, self.bias.fast)
        return super().forward(x)


def adapt(head, features, labels):
    for weight in head.parameters():
        weight.fast = None
    for _ in range(2):
        loss = F.cross_entropy(head(features), labels)
        slopes = torch.autograd.grad(loss, list(head.parameters()), create_graph=True)
        for weight, slope in zip(head.parameters(), slopes):
            weight.fast = (weight if weight.fast is None else weight.fast) - 0.1 * slope


body, head = nn.Linear(8, 4), Adapted(4, 3)
optimizer = torch.optim.Adam(head.parameters())
for _ in range(4):
    with torch.no_grad():
        features = body(torch.randn(6, 8))
    adapt(head, features, torch.randint(3, (6,)))
    loss = F.cross_entropy(head(features), torch.randint(3, (6,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
