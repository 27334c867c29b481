import copy

import torch
import torch.nn as nn


class Agent:
    def __init__(self, name, obs_dim, act_dim, joint_dim, lr):
        self.name = name
        self.actor = nn.Sequential(nn.Linear(obs_dim, 24), nn.ReLU(), nn.Linear(24, act_dim), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(joint_dim, 40), nn.ReLU(), nn.Linear(40, 1))
        self.slow_actor, self.slow_critic = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.opt_actor = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.opt_critic = torch.optim.Adam(self.critic.parameters(), lr=2 * lr)

    @torch.no_grad()
    def explore(self, obs, scale, rng):
        a = self.actor(obs)
        return (a + scale * torch.randn(a.shape, generator=rng)).clamp(-1, 1)

    @torch.no_grad()
    def sync(self, tau):
        for fast, slow in ((self.actor, self.slow_actor), (self.critic, self.slow_critic)):
            for p, q in zip(fast.parameters(), slow.parameters()):
                q += tau * (p - q)


class Team:
    def __init__(self, names, obs_dim, act_dim, lr=5e-3, gamma=0.93):
        joint = len(names) * (obs_dim + act_dim)
        self.names, self.gamma = names, gamma
        self.agents = {n: Agent(n, obs_dim, act_dim, joint, lr) for n in names}

    def joint(self, obs, acts):
        return torch.cat([obs[n] for n in self.names] + [acts[n] for n in self.names], dim=-1)

    def learn(self, batch):
        obs, acts, rews, nxt = batch
        with torch.no_grad():
            nxt_acts = {n: ag.slow_actor(nxt[n]) for n, ag in self.agents.items()}
            nxt_joint = self.joint(nxt, nxt_acts)
        here = self.joint(obs, acts)
        report = {}
        for n, ag in self.agents.items():
            with torch.no_grad():
                y = rews[n].unsqueeze(-1) + self.gamma * ag.slow_critic(nxt_joint)
            critic_loss = (ag.critic(here) - y).pow(2).mean()
            ag.opt_critic.zero_grad()
            critic_loss.backward()
            ag.opt_critic.step()

            own = ag.actor(obs[n])
            actor_loss = -ag.critic(self.joint(obs, {**acts, n: own})).mean() + 1e-3 * own.pow(2).mean()
            ag.opt_actor.zero_grad()
            actor_loss.backward()
            ag.opt_actor.step()
            report[n] = (critic_loss.item(), actor_loss.item())
        for ag in self.agents.values():
            ag.sync(0.05)
        return report
