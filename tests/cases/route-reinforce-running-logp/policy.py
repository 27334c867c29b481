import torch
from torch import nn


class Pointer(nn.Module):
    """Chooses the next stop from where we are and what is left."""

    def __init__(self, width=12):
        super().__init__()
        self.place = nn.Linear(2, width)
        self.query = nn.Linear(2 * width, width)

    def forward(self, stops, here, left):
        keys = self.place(stops)
        context = torch.cat([keys[here], keys[left].mean(0)])
        scores = keys @ torch.tanh(self.query(context)) / keys.size(1) ** 0.5
        return torch.distributions.Categorical(logits=scores.masked_fill(~left, -1e9))


class Evidence:
    """What the policy has committed itself to while walking a route."""

    def __init__(self):
        self.logp = 0.0
        self.entropy = 0.0
        self.steps = 0

    def add(self, dist, choice):
        self.logp = self.logp + dist.log_prob(choice)
        self.entropy = self.entropy + dist.entropy()
        self.steps += 1

    def mean_entropy(self):
        return self.entropy / max(self.steps, 1)
