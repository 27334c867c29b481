import torch
from torch import nn
from torch.distributions import Independent, Normal


class Gaussian(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.Tanh())
        self.mean, self.log_std = nn.Linear(32, act), nn.Linear(32, act)

    def forward(self, obs):
        h = self.body(obs)
        return Independent(Normal(self.mean(h), self.log_std(h).clamp(-3, 1).exp()), 1)


class Critic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs + act, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, obs, act):
        return self.net(torch.cat([obs, act], -1)).squeeze(-1)


def fit_critic(critic, steps):
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
    for _ in range(steps):
        obs, act = torch.randn(64, 3), torch.randn(64, 2)
        loss = (critic(obs, act) + (act - obs[:, :2]).pow(2).sum(-1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return critic.requires_grad_(False)


def improve(policy, critic, steps):
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    for _ in range(steps):
        obs = torch.randn(64, 3)
        dist = policy(obs)
        action = dist.sample()
        q = critic(obs, action)
        loss = -q.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(15)
critic = fit_critic(Critic(3, 2), 60)
print(f"RESULT {improve(Gaussian(3, 2), critic, 40):.5f}")
