import torch
from torch import nn


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))


class Policy(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = mlp(obs, 2 * act)

    def forward(self, s):
        mean, log_std = self.net(s).chunk(2, -1)
        dist = torch.distributions.Normal(mean, log_std.clamp(-4, 1).exp())
        raw = dist.rsample()
        action = torch.tanh(raw)
        return action, (dist.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-5)).sum(-1)


class Critic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.one, self.two = mlp(obs + act, 1), mlp(obs + act, 1)

    def forward(self, s, a):
        x = torch.cat([s, a], -1)
        return self.one(x).squeeze(-1), self.two(x).squeeze(-1)
