import torch
from torch import nn
from torch.distributions import Normal


def mlp(i, o, h=32):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, o))


class Actor(nn.Module):
    def __init__(self, z, act):
        super().__init__()
        self.net = mlp(z, 2 * act)

    def forward(self, z):
        mean, log_std = self.net(z).chunk(2, -1)
        dist = Normal(mean, log_std.clamp(-5, 2).exp())
        raw = dist.rsample()
        act = torch.tanh(raw)
        return act, (dist.log_prob(raw) - torch.log(1 - act.square() + 1e-6)).sum(-1)


class Critic(nn.Module):
    def __init__(self, z, act):
        super().__init__()
        self.q1, self.q2 = mlp(z + act, 1), mlp(z + act, 1)

    def forward(self, z, act):
        x = torch.cat([z, act], -1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)
