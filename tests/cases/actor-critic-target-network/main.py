import copy

import torch
from torch import nn
import torch.nn.functional as F


class Agent:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.a_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.c_opt = torch.optim.Adam(self.critic.parameters(), lr=3e-3)

    def update(self, s, a, r, s2):
        with torch.no_grad():
            target = r + 0.9 * self.critic_t(torch.cat([s2, self.actor_t(s2)], 1))
        c_loss = F.mse_loss(self.critic(torch.cat([s, a], 1)), target)
        self.c_opt.zero_grad()
        c_loss.backward()
        self.c_opt.step()
        a_loss = -self.critic(torch.cat([s, self.actor(s)], 1)).mean()
        self.a_opt.zero_grad()
        a_loss.backward()
        self.a_opt.step()
        with torch.no_grad():
            for t, p in zip([*self.actor_t.parameters(), *self.critic_t.parameters()], [*self.actor.parameters(), *self.critic.parameters()]):
                t.lerp_(p, 0.01)
        return c_loss.item(), a_loss.item()


torch.manual_seed(54)
agent = Agent()
for _ in range(30):
    s, a = torch.randn(32, 3), torch.rand(32, 1) * 2 - 1
    out = agent.update(s, a, -(a - s[:, :1].tanh()).pow(2), s + 0.1 * torch.randn(32, 3))
print("RESULT", *(f"{v:.6g}" for v in out))
