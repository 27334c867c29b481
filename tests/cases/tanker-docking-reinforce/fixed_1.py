import collections

import numpy as np
import torch
import torch.nn.functional as F
from torch.distributions import Categorical

Step = collections.namedtuple("Step", "obs action reward")


class Docking:
    """Bring a drifting tanker to the berth at the origin; thrust left, none or right."""

    def __init__(self, rng, limit=18):
        self.rng, self.limit = rng, limit

    def reset(self):
        self.x = self.rng.uniform(-1.5, 1.5)
        self.v = self.rng.uniform(-0.1, 0.1)
        self.t = 0
        return self.observe()

    def observe(self):
        return np.array([self.x, self.v, 1 - self.t / self.limit], dtype=np.float32)

    def step(self, action):
        self.v = 0.95 * self.v + 0.08 * (action - 1) + 0.01 * self.rng.normal()
        self.x += self.v
        self.t += 1
        docked = abs(self.x) < 0.15 and abs(self.v) < 0.12
        lost = abs(self.x) > 2.5
        reward = 4.0 if docked else (-2.0 if lost else -0.05)
        return self.observe(), reward, docked or lost or self.t >= self.limit


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(3, 16)
        self.logits = torch.nn.Linear(16, 3)

    def forward(self, obs):
        return Categorical(logits=self.logits(F.elu(self.body(obs))))


def play(env, policy):
    obs, done, steps = env.reset(), False, []
    while not done:
        with torch.no_grad():
            action = policy(torch.from_numpy(obs)).sample().item()
        nxt, reward, done = env.step(action)
        steps.append(Step(obs, action, reward))
        obs = nxt
    return steps


def returns(steps, gamma=0.97):
    out, g = [], 0.0
    for s in reversed(steps):
        g = s.reward + gamma * g
        out.append(g)
    return out[::-1]


class SelfImitating:
    """Learns only from the moves of a round that went better than expected."""

    def __init__(self, policy, lr=0.02):
        self.policy = policy
        self.opt = torch.optim.SGD(policy.parameters(), lr=lr)
        self.baseline = 0.0
        self.used = 0

    def update(self, episodes):
        obs = torch.from_numpy(np.stack([s.obs for ep in episodes for s in ep]))
        action = torch.tensor([s.action for ep in episodes for s in ep])
        gain = torch.tensor([g for ep in episodes for g in returns(ep)])
        advantage = (gain - self.baseline).clamp(min=0)
        self.baseline += 0.1 * (gain.mean().item() - self.baseline)
        good = advantage > 0.5
        if good.sum() >= 4:
            dist = self.policy(obs[good])
            loss = -(advantage[good] * dist.log_prob(action[good])).mean()
            loss = loss - 0.01 * dist.entropy().mean()
            self.opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
            self.opt.step()
            self.used += 1


def main():
    torch.manual_seed(7)
    env = Docking(np.random.default_rng(7))
    agent = SelfImitating(Policy())
    curve = []
    for it in range(40):
        batch = [play(env, agent.policy) for _ in range(2)]
        agent.update(batch)
        curve.append(np.mean([sum(s.reward for s in ep) for ep in batch]))
    print(f"mean return, first and last ten rounds: {np.mean(curve[:10]):.3f} {np.mean(curve[-10:]):.3f}")
    size = sum(p.abs().sum().item() for p in agent.policy.parameters())
    print(f"RESULT {np.mean(curve):.6g} {agent.used} {size:.6g}")


if __name__ == "__main__":
    main()
