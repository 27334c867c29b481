from dataclasses import dataclass

import torch
from torch import nn
from torch.distributions import Categorical


@dataclass
class Rollout:
    obs: torch.Tensor
    actions: torch.Tensor
    logps: torch.Tensor
    rewards: torch.Tensor

    def minibatches(self, size):
        for rows in torch.randperm(len(self.obs)).split(size):
            yield self.obs[rows], self.actions[rows], self.logps[rows], self.rewards[rows]


class Agent(nn.Module):
    def __init__(self, obs, actions, cfg):
        super().__init__()
        self.cfg = cfg
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.Tanh())
        self.pi = nn.Linear(32, actions)
        self.v = nn.Linear(32, 1)
        self.optimiser = torch.optim.Adam(self.parameters(), lr=cfg["lr"])

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)

    def learn(self, rollout):
        for _ in range(self.cfg["epochs"]):
            for obs, actions, old, rewards in rollout.minibatches(self.cfg["minibatch"]):
                dist, value = self(obs)
                ratio = (dist.log_prob(actions) - old).exp()
                adv = rewards - value.detach()
                clipped = ratio.clamp(1 - self.cfg["clip"], 1 + self.cfg["clip"])
                pg_loss = -torch.min(ratio * adv, clipped * adv).mean()
                loss = pg_loss + 0.5 * (value - rewards).pow(2).mean() - self.cfg["entropy"] * dist.entropy().mean()
                self.optimiser.zero_grad()
                loss.backward(**self.cfg["backward"])
                nn.utils.clip_grad_norm_(self.parameters(), 0.5)
                self.optimiser.step()


@torch.no_grad()
def collect(agent, horizon):
    obs = torch.randn(horizon, 5)
    dist, _ = agent(obs)
    actions = dist.sample()
    best = obs[:, :3].argmax(-1)
    return Rollout(obs, actions, dist.log_prob(actions), (actions == best).float())
