import torch
from torch import nn


class RegularizedAttention(nn.Module):
    def __init__(self, width, weight=1e-3):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.weight = weight

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
        z_loss = self.weight * torch.logsumexp(scores, -1).pow(2).mean()
        future = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        scores.masked_fill_(future, float("-inf"))
        return self.proj(scores.softmax(-1) @ v), z_loss
