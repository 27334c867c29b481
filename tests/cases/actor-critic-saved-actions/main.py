from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(3, 32)
        self.action_head = nn.Linear(32, 2)
        self.value_head = nn.Linear(32, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


model = Policy()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
eps = 1e-6


def select_action(state):
    probs, value = model(state)
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append(SavedAction(m.log_prob(action), value))
    return action.item()


def finish_episode():
    R, returns, policy_losses, value_losses = 0, [], [], []
    for r in model.rewards[::-1]:
        R = r + 0.95 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]


torch.manual_seed(543)
running_reward = 2.0
for i_episode in range(60):
    state, ep_reward = torch.randn(3), 0.0
    for t in range(12):
        action = select_action(state)
        reward = 1.0 if (state[0] > 0) == bool(action) else 0.0
        state = 0.5 * state + torch.randn(3)
        model.rewards.append(reward)
        ep_reward += reward
    running_reward = 0.05 * ep_reward + 0.95 * running_reward
    finish_episode()
print(f"RESULT {running_reward:.5f}")
