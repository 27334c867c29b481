import torch
from torch import nn, optim
from torch.distributions import Normal


class SAC:
    def __init__(self, n_obs=3, target_entropy=-1.0):
        self.policy = nn.Sequential(nn.Linear(n_obs, 16), nn.ReLU(), nn.Linear(16, 2))
        self.q = nn.Sequential(nn.Linear(n_obs + 1, 16), nn.ReLU(), nn.Linear(16, 1))
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.target_entropy = target_entropy
        self.pi_opt = optim.Adam(self.policy.parameters(), lr=2e-3)
        self.q_opt = optim.Adam(self.q.parameters(), lr=2e-3)
        self.alpha_opt = optim.Adam([self.log_alpha], lr=2e-2)

    def sample(self, obs):
        mean, log_std = self.policy(obs).chunk(2, -1)
        dist = Normal(mean, log_std.clamp(-3, 1).exp())
        u = dist.rsample()
        a = torch.tanh(u)
        return a, (dist.log_prob(u) - (1 - a.pow(2) + 1e-5).log()).squeeze(-1)

    def update(self, obs, act, reward):
        q_loss = (self.q(torch.cat([obs, act], -1)).squeeze(-1) - reward).pow(2).mean()
        self.q_opt.zero_grad()
        q_loss.backward()
        self.q_opt.step()

        a, logp = self.sample(obs)
        pi_loss = (self.log_alpha.exp().detach() * logp - self.q(torch.cat([obs, a], -1)).squeeze(-1)).mean()
        self.pi_opt.zero_grad()
        pi_loss.backward()
        self.pi_opt.step()

        alpha_loss = -(self.log_alpha * (logp + self.target_entropy)).mean()
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()
        return q_loss.item(), pi_loss.item()


torch.manual_seed(128)
sac = SAC()
for _ in range(20):
    obs = torch.randn(24, 3)
    act = torch.rand(24, 1) * 2 - 1
    out = sac.update(obs, act, -(act.squeeze(-1) - obs[:, 0].tanh()).pow(2))
print("RESULT", *(f"{v:.6g}" for v in out), f"{sac.log_alpha.item():.6g}")
