from typing import NamedTuple

import torch
from torch import nn
from torch.distributions import Normal
import torch.nn.functional as F


class State(NamedTuple):
    deter: torch.Tensor
    stoch: torch.Tensor


class RSSM(nn.Module):
    def __init__(self, obs=4, act=2, deter=16, stoch=4):
        super().__init__()
        self.sizes = deter, stoch
        self.pre = nn.Linear(stoch + act, deter)
        self.cell = nn.GRUCell(deter, deter)
        self.post = nn.Linear(deter + obs, 2 * stoch)
        self.decode = nn.Linear(deter + stoch, obs)

    def initial(self, n):
        return State(*(torch.zeros(n, s) for s in self.sizes))

    def observe(self, obs, action, prev):
        deter = self.cell(F.elu(self.pre(torch.cat([prev.stoch, action], -1))), prev.deter)
        mean, std = self.post(torch.cat([deter, obs], -1)).chunk(2, -1)
        dist = Normal(mean, F.softplus(std) + 0.1)
        return State(deter, dist.rsample()), dist

    def loss(self, obs, action, prev):
        total = 0.0
        for o, a in zip(obs, action):
            prev, dist = self.observe(o, a, prev)
            recon = self.decode(torch.cat([prev.deter, prev.stoch], -1))
            kl = torch.distributions.kl_divergence(dist, Normal(torch.zeros(()), torch.ones(()))).mean()
            total = total + F.mse_loss(recon, o) + 0.1 * kl
        return total / len(obs), prev


class Agent:
    def __init__(self, n_envs):
        self.world = RSSM()
        self.optim = torch.optim.Adam(self.world.parameters(), lr=3e-3)
        self.belief = self.world.initial(n_envs)

    def learn(self, obs, action):
        loss, self.belief = self.world.loss(obs, action, self.belief)
        self.optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.world.parameters(), 10.0)
        self.optim.step()
        return loss.item()


torch.manual_seed(9)
agent = Agent(6)
phase = torch.rand(6, 1)
for chunk in range(6):
    t = torch.arange(chunk * 5, chunk * 5 + 5).view(5, 1, 1) * 0.3
    obs = torch.sin(t + phase + torch.arange(4) * 0.5)
    last = agent.learn(obs, torch.randn(5, 6, 2))
print(f"RESULT {last:.6g}")
