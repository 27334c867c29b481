import torch
from torch import nn


class UpperBound(nn.Module):
    """Bounds the mutual information of two codes by a Gaussian fitted from one to the other."""

    def __init__(self, a, b):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(a, 16), nn.ReLU(), nn.Linear(16, b))
        self.logvar = nn.Sequential(nn.Linear(a, 16), nn.ReLU(), nn.Linear(16, b), nn.Tanh())

    def log_prob(self, a, b):
        mu, logvar = self.mu(a), self.logvar(a)
        return (-(mu - b).pow(2) / logvar.exp() - logvar).sum(-1)

    def learning_loss(self, a, b):
        return -self.log_prob(a, b).mean()

    def forward(self, a, b):
        shuffled = b[torch.randperm(len(b))]
        return (self.log_prob(a, b) - self.log_prob(a, shuffled)).mean()
