import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.SiLU()]
    return nn.Sequential(*layers[:-1])


class SquashedPolicy(nn.Module):
    def __init__(self, obs, act, hidden=24):
        super().__init__()
        self.body = mlp(obs, hidden, 2 * act)

    def forward(self, obs):
        mu, log_std = self.body(obs).chunk(2, -1)
        log_std = log_std.clamp(-4, 1)
        raw = torch.distributions.Normal(mu, log_std.exp())
        u = raw.rsample()
        a = u.tanh()
        logp = (raw.log_prob(u) - 2 * (0.6931472 - u - F.softplus(-2 * u))).sum(-1)
        return a, logp


class Twin(nn.Module):
    def __init__(self, obs, act, hidden=24):
        super().__init__()
        self.q = nn.ModuleList(mlp(obs + act, hidden, 1) for _ in range(2))

    def forward(self, obs, act):
        x = torch.cat((obs, act), -1)
        return [q(x).squeeze(-1) for q in self.q]

    def frozen_copy(self):
        return copy.deepcopy(self).requires_grad_(False)

    @torch.no_grad()
    def follow(self, other, rate):
        for mine, theirs in zip(self.parameters(), other.parameters()):
            mine.lerp_(theirs, rate)
