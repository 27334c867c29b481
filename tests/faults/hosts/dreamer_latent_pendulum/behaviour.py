import contextlib
import torch
from torch import nn
from rssm import Latent


@contextlib.contextmanager
def frozen(*modules):
    for m in modules:
        m.requires_grad_(False)
    yield
    for m in modules:
        m.requires_grad_(True)


class Behaviour:
    def __init__(self, world, feat_dim, act_dim, horizon=6, gamma=0.95, lam=0.9):
        self.world, self.horizon, self.gamma, self.lam = world, horizon, gamma, lam
        self.actor = nn.Sequential(nn.Linear(feat_dim, 24), nn.ELU(), nn.Linear(24, act_dim), nn.Tanh())
        self.value = nn.Sequential(nn.Linear(feat_dim, 24), nn.ELU(), nn.Linear(24, 1))
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=5e-3)
        self.value_opt = torch.optim.Adam(self.value.parameters(), lr=1e-2)

    def dream(self, start):
        latent = Latent(*start.split([self.world.deter, self.world.stoch], -1))
        traj = [start]
        for _ in range(self.horizon):
            deter, prior = self.world.prior(latent, self.actor(traj[-1]))
            latent = Latent(deter, prior.rsample())
            traj.append(torch.cat(latent, -1))
        return torch.stack(traj)

    def lambda_returns(self, reward, value):
        out, last = [], value[-1]
        for t in reversed(range(len(reward))):
            last = reward[t] + self.gamma * ((1 - self.lam) * value[t + 1] + self.lam * last)
            out.append(last)
        return torch.stack(out[::-1])

    @staticmethod
    def step(opt, loss):
        opt.zero_grad()
        loss.backward()
        opt.step()

    def learn(self, feats):
        start = feats.detach().flatten(0, 1)
        with frozen(self.world, self.value):
            traj = self.dream(start)
            reward = self.world.reward_head(traj[1:]).squeeze(-1)
            returns = self.lambda_returns(reward, self.value(traj).squeeze(-1))
        actor_loss = -returns.mean()
        self.step(self.actor_opt, actor_loss)
        value_loss = (self.value(traj[:-1].detach()).squeeze(-1) - returns.detach()).pow(2).mean()
        self.step(self.value_opt, value_loss)
        return actor_loss.item(), value_loss.item()
