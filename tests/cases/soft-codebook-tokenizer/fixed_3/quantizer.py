from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class QuantizerOutput:
    tokens: torch.Tensor
    commit: torch.Tensor
    perplexity: float


class SoftCodebook(nn.Module):
    def __init__(self, size, dim, decay=0.9, tau=0.5, eps=1e-5):
        super().__init__()
        self.size, self.decay, self.tau, self.eps = size, decay, tau, eps
        self.register_buffer("codes", torch.randn(size, dim))
        self.register_buffer("counts", torch.ones(size))
        self.register_buffer("sums", self.codes.clone())

    def assign(self, z):
        codes = self.codes.clone()
        sim = z @ codes.t()
        dist = z.pow(2).sum(-1, keepdim=True) - 2 * sim + self.codes.pow(2).sum(-1)
        return torch.softmax(-dist / self.tau, -1), dist.argmin(-1)

    @torch.no_grad()
    def adapt(self, z, nearest):
        onehot = nn.functional.one_hot(nearest, self.size).to(z)
        self.counts.lerp_(onehot.sum(0), 1 - self.decay)
        self.sums.lerp_(onehot.t() @ z, 1 - self.decay)
        total = self.counts.sum()
        smooth = (self.counts + self.eps) / (total + self.size * self.eps) * total
        self.codes.copy_(self.sums / smooth.unsqueeze(1))

    def forward(self, z):
        weights, nearest = self.assign(z)
        tokens = weights @ self.codes.clone()
        usage = weights.mean(0).detach()
        commit = (z - tokens.detach()).pow(2).mean()
        if self.training:
            self.adapt(z.detach(), nearest)
        perplexity = torch.exp(-(usage * (usage + 1e-9).log()).sum()).item()
        return QuantizerOutput(tokens, commit, perplexity)
