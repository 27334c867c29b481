import torch
from torch import nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, n_actions, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs_dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.policy = nn.Linear(width, n_actions)
        self.value = nn.Linear(width, 1)

    def forward(self, obs):
        z = self.trunk(obs)
        return Categorical(logits=self.policy(z)), self.value(z).squeeze(-1)


class A2C:
    def __init__(self, net, gamma=0.95, value_coef=0.5, entropy_coef=0.01, lr=7e-3):
        self.net = net
        self.gamma, self.value_coef, self.entropy_coef = gamma, value_coef, entropy_coef
        self.optimizer = torch.optim.RMSprop(net.parameters(), lr=lr, alpha=0.99, eps=1e-5)

    def returns(self, rewards, dones, last_obs):
        with torch.no_grad():
            _, running = self.net(last_obs)
        out = []
        for r, d in zip(reversed(rewards), reversed(dones)):
            running = r + self.gamma * running * (1.0 - d)
            out.insert(0, running)
        return torch.stack(out)

    def update(self, log_probs, values, entropies, rewards, dones, last_obs):
        returns = self.returns(rewards, dones, last_obs)
        values = torch.stack(values)
        advantage = returns - values
        policy_loss = -(torch.stack(log_probs) * advantage.detach()).mean()
        value_loss = advantage.pow(2).mean()
        entropy = torch.stack(entropies).mean()
        loss = policy_loss + self.value_coef * value_loss - self.entropy_coef * entropy
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 0.5)
        self.optimizer.step()
        return {"policy": policy_loss.item(), "value": value_loss.item(), "entropy": entropy.item()}
