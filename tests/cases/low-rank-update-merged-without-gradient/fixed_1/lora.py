import torch
from torch import nn
from torch.nn import functional as F


class LowRank(nn.Module):
    def __init__(self, base, rank, alpha=4.0):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def merged(self):
        return self.base.weight + self.scale * self.up @ self.down

    def forward(self, x):
        return F.linear(x, self.merged(), self.base.bias)


def adapter_parameters(model):
    return [p for m in model.modules() if isinstance(m, LowRank) for p in (m.down, m.up)]
