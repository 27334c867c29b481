import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

from replay_buffer import ReplayBuffer


class CriticNetwork(nn.Module):
    def __init__(self, obs_dim, n_actions, fc=24):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(obs_dim + n_actions, fc), nn.ReLU(), nn.Linear(fc, 1))

    def forward(self, state, action):
        return self.q(torch.cat([state, action], dim=1)).view(-1)


class ActorNetwork(nn.Module):
    def __init__(self, obs_dim, n_actions, fc=24):
        super().__init__()
        self.fc = nn.Linear(obs_dim, fc)
        self.mu = nn.Linear(fc, n_actions)
        self.sigma = nn.Linear(fc, n_actions)
        self.reparam_noise = 1e-6

    def sample_normal(self, state):
        h = F.relu(self.fc(state))
        dist = Normal(self.mu(h), self.sigma(h).clamp(-5, 1).exp())
        u = dist.rsample()
        action = torch.tanh(u)
        log_probs = dist.log_prob(u) - torch.log(1 - action.pow(2) + self.reparam_noise)
        return action, log_probs.sum(1)


class Agent:
    def __init__(self, obs_dim, n_actions, lr=3e-3, gamma=0.98, tau=0.01, batch_size=16):
        self.gamma, self.tau, self.batch_size = gamma, tau, batch_size
        self.memory = ReplayBuffer(500, obs_dim, n_actions)
        self.actor = ActorNetwork(obs_dim, n_actions)
        self.critic_1 = CriticNetwork(obs_dim, n_actions)
        self.critic_2 = CriticNetwork(obs_dim, n_actions)
        self.target_1 = copy.deepcopy(self.critic_1)
        self.target_2 = copy.deepcopy(self.critic_2)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic_opt = torch.optim.Adam(
            [*self.critic_1.parameters(), *self.critic_2.parameters()], lr=lr)

        # automatic entropy tuning
        self.target_entropy = -float(n_actions)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.alpha_opt = torch.optim.Adam([self.log_alpha], lr=lr)

    @torch.no_grad()
    def choose_action(self, observation):
        state = torch.as_tensor(observation, dtype=torch.float32).unsqueeze(0)
        action, _ = self.actor.sample_normal(state)
        return action.numpy()[0]

    def remember(self, *transition):
        self.memory.store_transition(*transition)

    def learn(self):
        if self.memory.mem_cntr < self.batch_size:
            return None
        state, action, reward, state_, done = self.memory.sample_buffer(self.batch_size)

        self.alpha = self.log_alpha.detach().exp()
        with torch.no_grad():
            action_, log_probs_ = self.actor.sample_normal(state_)
            q_ = torch.min(self.target_1(state_, action_), self.target_2(state_, action_))
            target = reward + self.gamma * (~done) * (q_ - self.alpha * log_probs_)
        critic_loss = F.mse_loss(self.critic_1(state, action), target)
        critic_loss = critic_loss + F.mse_loss(self.critic_2(state, action), target)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        new_action, log_probs = self.actor.sample_normal(state)
        q = torch.min(self.critic_1(state, new_action), self.critic_2(state, new_action))
        actor_loss = (self.alpha * log_probs - q).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()

        alpha_loss = -(self.log_alpha * (log_probs + self.target_entropy).detach()).mean()
        self.alpha_opt.zero_grad()
        alpha_loss.backward()
        self.alpha_opt.step()

        self.update_network_parameters()
        return critic_loss.item(), actor_loss.item(), alpha_loss.item()

    def update_network_parameters(self):
        pairs = ((self.critic_1, self.target_1), (self.critic_2, self.target_2))
        for net, target in pairs:
            for p, tp in zip(net.parameters(), target.parameters()):
                tp.data.copy_(self.tau * p.data + (1 - self.tau) * tp.data)
