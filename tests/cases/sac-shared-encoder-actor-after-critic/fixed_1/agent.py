import copy
from itertools import chain

import torch
import torch.nn.functional as F

from nets import Actor, Critic, mlp


class SAC:
    def __init__(self, obs, act, z=16, alpha=0.1, gamma=0.95):
        self.alpha, self.gamma = alpha, gamma
        self.encoder, self.actor, self.critic = mlp(obs, z), Actor(z, act), Critic(z, act)
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        self.opt_critic = torch.optim.Adam(chain(self.encoder.parameters(), self.critic.parameters()), lr=1e-3)
        self.opt_actor = torch.optim.Adam(self.actor.parameters(), lr=1e-3)

    def update(self, batch):
        obs, act, rew, nxt = batch
        z = self.encoder(obs)
        critic_loss = self.critic_loss(z, act, rew, nxt)
        self.opt_critic.zero_grad()
        critic_loss.backward()
        self.opt_critic.step()

        actor_loss = self.actor_loss(z.detach())
        self.opt_actor.zero_grad()
        actor_loss.backward()
        self.opt_actor.step()

        with torch.no_grad():
            for t, p in zip(self.target.parameters(), self.critic.parameters()):
                t.lerp_(p, 0.01)
        return {"critic": critic_loss.item(), "actor": actor_loss.item()}

    def critic_loss(self, z, act, rew, nxt):
        with torch.no_grad():
            z2 = self.encoder(nxt)
            a2, logp = self.actor(z2)
            goal = rew + self.gamma * (torch.min(*self.target(z2, a2)) - self.alpha * logp)
        q1, q2 = self.critic(z, act)
        return F.mse_loss(q1, goal) + F.mse_loss(q2, goal)

    def actor_loss(self, z):
        act, logp = self.actor(z)
        return (self.alpha * logp - torch.min(*self.critic(z, act))).mean()
