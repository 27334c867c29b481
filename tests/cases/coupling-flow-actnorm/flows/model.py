import math

import torch
from torch import nn

from .layers import ActNorm, AffineCoupling, Permute


class Flow(nn.Module):
    def __init__(self, features, blocks=3):
        super().__init__()
        g = torch.Generator().manual_seed(1)
        steps = []
        for i in range(blocks):
            steps.append(ActNorm(features))
            steps.append(AffineCoupling(features, flip=bool(i % 2)))
            steps.append(Permute(features, g))
        self.steps = nn.ModuleList(steps)

    def log_prob(self, x):
        total = torch.zeros(x.size(0))
        for step in self.steps:
            x, logdet = step(x)
            total = total + logdet
        base = -0.5 * (x ** 2 + math.log(2 * math.pi)).sum(dim=1)
        return base + total
