import copy
import random
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

from nets import Critic, Policy


class SAC:
    def __init__(self, obs=3, act=1):
        self.policy, self.critic = Policy(obs, act), Critic(obs, act)
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        self.log_alpha = torch.zeros((), requires_grad=True)
        self.opt_p = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.opt_a = torch.optim.Adam([self.log_alpha], lr=1e-3)

    def update_critic(self, s, a, r, s2):
        with torch.no_grad():
            a2, logp = self.policy(s2)
            goal = r + 0.95 * (torch.min(*self.target(s2, a2)) - self.log_alpha.exp() * logp)
        q1, q2 = self.critic(s, a)
        loss = F.mse_loss(q1, goal) + F.mse_loss(q2, goal)
        self.opt_c.zero_grad()
        loss.backward()
        self.opt_c.step()
        return loss.item()

    def update_policy(self, s):
        self.critic.requires_grad_(False)
        a, logp = self.policy(s)
        loss = (self.log_alpha.exp().detach() * logp - torch.min(*self.critic(s, a))).mean()
        self.opt_p.zero_grad()
        loss.backward()
        self.opt_p.step()
        self.critic.requires_grad_(True)
        alpha_loss = -(self.log_alpha.exp() * (logp.detach() - 1.0)).mean()
        self.opt_a.zero_grad()
        alpha_loss.backward()
        self.opt_a.step()

    @torch.no_grad()
    def follow(self, tau=0.02):
        for slow, fast in zip(self.target.parameters(), self.critic.parameters()):
            slow.lerp_(fast, tau)


def main():
    torch.manual_seed(72)
    random.seed(72)
    agent, memory = SAC(), deque(maxlen=400)
    state, returns = torch.zeros(3), []
    for step in range(200):
        with torch.no_grad():
            action, _ = agent.policy(state[None])
        nxt = 0.9 * state + torch.cat([action[0], 0.1 * torch.randn(2)])
        reward = -(nxt[0] - 1.0).abs()
        memory.append((state, action[0], reward, nxt))
        state = nxt if step % 25 else torch.zeros(3)
        returns.append(float(reward))
        if len(memory) < 32:
            continue
        s, a, r, s2 = map(torch.stack, zip(*random.sample(memory, 32)))
        q = agent.update_critic(s, a, r, s2)
        if step % 2 == 0:
            agent.update_policy(s)
        agent.follow()
    print(f"RESULT {q:.5f} {sum(returns[-25:]) / 25:.5f}")


main()
