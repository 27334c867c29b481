import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 3))
        self.logps, self.rewards, self.entropies = [], [], []

    def act(self, obs):
        dist = Categorical(logits=self.net(obs))
        action = dist.sample()
        self.logps.append(dist.log_prob(action))
        self.entropies.append(dist.entropy())
        return action


class Corridor:
    def reset(self):
        self.t, self.goal = 0, torch.randint(0, 3, ())
        return self.obs()

    def obs(self):
        return torch.cat([nn.functional.one_hot(self.goal, 3).float(), torch.tensor([self.t / 8])])

    def step(self, action):
        self.t += 1
        reward = float(action == self.goal)
        self.goal = torch.randint(0, 3, ())
        return self.obs(), reward, self.t >= 8


def finish(policy, optimizer, baseline, gamma=0.9):
    returns, g = [], 0.0
    for r in reversed(policy.rewards):
        g = r + gamma * g
        returns.insert(0, g)
    advantage = torch.tensor(returns) - baseline
    loss = -(torch.stack(policy.logps) * advantage).sum() - 0.01 * torch.stack(policy.entropies).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del policy.logps[:], policy.rewards[:], policy.entropies[:]
    return 0.9 * baseline + 0.1 * sum(returns) / len(returns)


def evaluate(policy, env, episodes=10):
    policy.eval()
    scores = []
    for _ in range(episodes):
        obs, done, score = env.reset(), False, 0.0
        while not done:
            action = policy.net(obs).argmax()
            obs, reward, done = env.step(action)
            score += reward
        scores.append(score)
    policy.train()
    return sum(scores) / len(scores)


torch.manual_seed(51)
policy, env, baseline, curve = Policy(), Corridor(), 0.0, []
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(60):
    obs, done = env.reset(), False
    while not done:
        obs, reward, done = env.step(policy.act(obs))
        policy.rewards.append(reward)
    baseline = finish(policy, optimizer, baseline)
    if episode % 15 == 14:
        curve.append(evaluate(policy, env))
print("RESULT", *(f"{c:.3f}" for c in curve))
