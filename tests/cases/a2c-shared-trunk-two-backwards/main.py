import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Bandwalk:
    """Walk on a ring of cells towards a goal."""

    def __init__(self, n=6, seed=0):
        self.n, self.rng = n, np.random.RandomState(seed)

    def reset(self):
        self.pos, self.t = int(self.rng.randint(self.n)), 0
        return np.eye(self.n, dtype=np.float32)[self.pos]

    def step(self, action):
        self.pos = (self.pos + (1 if action else -1)) % self.n
        self.t += 1
        return np.eye(self.n, dtype=np.float32)[self.pos], float(self.pos == 0), self.t >= 8


class ActorCritic(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.trunk, self.pi, self.v = nn.Linear(n, 16), nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, x):
        h = torch.tanh(self.trunk(x))
        return F.softmax(self.pi(h), -1), self.v(h)


class Learner:
    def __init__(self, env, gamma=0.9):
        self.env, self.gamma, self.rng = env, gamma, np.random.RandomState(1)
        self.net = ActorCritic(env.n)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)

    def rollout(self):
        obs, done, logps, values, rewards = self.env.reset(), False, [], [], []
        while not done:
            probs, value = self.net(torch.from_numpy(obs))
            a = int(self.rng.rand() < probs[1].item())
            obs, r, done = self.env.step(a)
            logps.append(probs[a].log())
            values.append(value.squeeze())
            rewards.append(r)
        return torch.stack(logps), torch.stack(values), rewards

    def update(self):
        logps, values, rewards = self.rollout()
        returns, g = [], 0.0
        for r in reversed(rewards):
            g = r + self.gamma * g
            returns.insert(0, g)
        returns = torch.tensor(returns)
        policy_loss = -(logps * (returns - values.detach())).sum()
        value_loss = F.smooth_l1_loss(values, returns, reduction="sum")
        self.opt.zero_grad()
        policy_loss.backward()
        value_loss.backward()
        self.opt.step()
        return sum(rewards)


torch.manual_seed(9)
learner = Learner(Bandwalk())
scores = [learner.update() for _ in range(25)]
print("RESULT", f"{np.mean(scores):.6g}", *(f"{p.abs().sum().item():.6g}" for p in learner.net.parameters()))
