import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


class Bandit:
    def __init__(self, arms):
        self.means = np.linspace(-1, 1, arms)

    def pull(self, arm):
        return self.means[arm] + 0.1 * np.random.randn()


def run(policy, bandit, pulls):
    logps, rewards = [], []
    for _ in range(pulls):
        dist = Categorical(logits=policy(torch.ones(1)))
        arm = dist.sample()
        logps.append(dist.log_prob(arm))
        rewards.append(bandit.pull(arm.item()))
    return torch.stack(logps), np.array(rewards)


def main():
    torch.manual_seed(13)
    np.random.seed(13)
    policy = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 5))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.05)
    for episode in range(15):
        logps, rewards = run(policy, Bandit(5), 20)
        advantage = rewards - rewards.mean()
        loss = -(logps * torch.tensor(advantage)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {rewards.mean():.6g}")


if __name__ == "__main__":
    main()
