import torch
from torch import nn


class RandomWalk:
    def __init__(self, size=9):
        self.size = size

    def reset(self):
        self.at = self.size // 2
        return self.features()

    def features(self):
        return torch.eye(self.size)[self.at]

    def step(self):
        self.at += 1 if torch.rand(()) < 0.5 else -1
        done = self.at in (0, self.size - 1)
        return self.features(), float(self.at == self.size - 1), done


def td_zero(critic, env, episodes, gamma=0.98, lr=0.05):
    optimizer = torch.optim.SGD(critic.parameters(), lr=lr)
    lengths = []
    for _ in range(episodes):
        value = critic(env.reset())
        done, n = False, 0
        while not done:
            obs, reward, done = env.step()
            next_value = critic(obs)
            delta = reward + gamma * (1 - done) * next_value - value
            optimizer.zero_grad()
            delta.pow(2).mean().backward()
            optimizer.step()
            value = critic(obs)
            n += 1
        lengths.append(n)
    return lengths


torch.manual_seed(2)
critic = nn.Sequential(nn.Linear(9, 24), nn.Tanh(), nn.Linear(24, 1))
td_zero(critic, RandomWalk(), episodes=30)
with torch.no_grad():
    print("RESULT", " ".join(f"{v:.4f}" for v in critic(torch.eye(9)).squeeze(-1)[1:8:3]))
