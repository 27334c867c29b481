import copy

import torch
from torch import nn
import torch.nn.functional as F


class DDPG:
    def __init__(self, s, a, gamma=0.9):
        self.gamma = gamma
        self.actor = nn.Sequential(nn.Linear(s, 32), nn.ReLU(), nn.Linear(32, a), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(s + a, 32), nn.ReLU(), nn.Linear(32, 1))
        self.actor_target, self.critic_target = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def q(self, critic, s, a):
        return critic(torch.cat([s, a], 1))

    def compute_losses(self, s, a, r, s2):
        with torch.no_grad():
            target = r + self.gamma * self.q(self.critic_target, s2, self.actor_target(s2))
        critic_loss = F.mse_loss(self.q(self.critic, s, a), target)
        actor_loss = -self.q(self.critic, s, self.actor(s)).mean()
        return actor_loss, critic_loss

    def learn(self, *batch):
        actor_loss, critic_loss = self.compute_losses(*batch)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        actor_loss = -self.q(self.critic, batch[0], self.actor(batch[0])).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        for net, slow in ((self.actor, self.actor_target), (self.critic, self.critic_target)):
            for p, t in zip(net.parameters(), slow.parameters()):
                t.data.lerp_(p.data, 0.01)
        return actor_loss.item(), critic_loss.item()
