import torch
from torch import nn
from torch.distributions import Categorical
import torch.nn.functional as F


class Curiosity(nn.Module):
    """Reward for what the forward model does not foresee."""

    def __init__(self, obs_dim, n_actions, width=16):
        super().__init__()
        self.n_actions = n_actions
        self.phi = nn.Sequential(nn.Linear(obs_dim, width), nn.ELU())
        self.forward_model = nn.Sequential(nn.Linear(width + n_actions, width), nn.ELU(), nn.Linear(width, width))
        self.inverse_model = nn.Linear(2 * width, n_actions)

    def forward(self, obs, nxt, action):
        a, b = self.phi(obs), self.phi(nxt)
        guess = self.forward_model(torch.cat([a, F.one_hot(action, self.n_actions).float()], -1))
        error = 0.5 * (guess - b).square().sum(-1)
        inverse = F.cross_entropy(self.inverse_model(torch.cat([a, b], -1)), action)
        return error, inverse


class Ring:
    def __init__(self, n):
        self.n, self.pos = n, 0

    def obs(self):
        angle = torch.tensor(2 * torch.pi * self.pos / self.n)
        return torch.stack([angle.sin(), angle.cos()])

    def step(self, action):
        self.pos = (self.pos + (1 if action else -1)) % self.n
        return self.obs(), float(self.pos == self.n // 2)


def discounted(rewards, gamma=0.95):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        out.insert(0, g)
    return out


def episode(env, policy, length=15):
    obs, nxt, acts, rews, logps = [], [], [], [], []
    o = env.obs()
    for _ in range(length):
        dist = Categorical(logits=policy(o))
        a = dist.sample()
        o2, r = env.step(a.item())
        obs.append(o), nxt.append(o2), acts.append(a), rews.append(r), logps.append(dist.log_prob(a))
        o = o2
    return torch.stack(obs), torch.stack(nxt), torch.stack(acts), rews, torch.stack(logps)


torch.manual_seed(64)
env, policy, icm = Ring(12), nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2)), Curiosity(2, 2)
opt_pi = torch.optim.Adam(policy.parameters(), lr=1e-2)
opt_icm = torch.optim.Adam(icm.parameters(), lr=1e-2)
for _ in range(8):
    obs, nxt, acts, rews, logps = episode(env, policy)
    intrinsic, inverse_loss = icm(obs, nxt, acts)

    opt_icm.zero_grad()
    (0.2 * intrinsic.mean() + 0.8 * inverse_loss).backward()
    opt_icm.step()

    returns = torch.stack(discounted([r + 0.1 * i for r, i in zip(rews, intrinsic)]))
    advantage = (returns - returns.mean()) / (returns.std() + 1e-6)
    policy_loss = -(logps * advantage).mean()
    opt_pi.zero_grad()
    policy_loss.backward()
    opt_pi.step()
print(f"RESULT {policy_loss.item():.6g} {intrinsic.mean().item():.6g} {inverse_loss.item():.6g}")
