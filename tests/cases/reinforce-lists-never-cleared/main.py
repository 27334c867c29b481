import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Balance:
    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.x, self.v = self.rng.uniform(-0.5, 0.5), 0.0
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, a):
        self.v += 0.2 * (2 * a - 1) + 0.1 * self.x
        self.x += 0.3 * self.v
        return np.array([self.x, self.v], dtype=np.float32), 1.0, abs(self.x) > 1.5


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1, self.affine2 = nn.Linear(2, 16), nn.Linear(16, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return F.softmax(self.affine2(F.relu(self.affine1(x))), dim=-1)


def select_action(policy, state):
    m = Categorical(policy(torch.from_numpy(state)))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer, gamma=0.95):
    R, returns = 0.0, []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    policy_loss = torch.stack([-lp * ret for lp, ret in zip(policy.saved_log_probs, returns)]).sum()
    optimizer.zero_grad()
    policy_loss.backward()
    optimizer.step()
    return policy_loss.item()


def main():
    torch.manual_seed(26)
    env, policy = Balance(0), Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    lengths = []
    for episode in range(12):
        state = env.reset()
        for t in range(30):
            state, reward, done = env.step(select_action(policy, state))
            policy.rewards.append(reward)
            if done:
                break
        finish_episode(policy, optimizer)
        lengths.append(t + 1)
    print("RESULT", *lengths[-3:], f"{policy.affine1.weight.abs().sum().item():.6g}")


if __name__ == "__main__":
    main()
