import argparse
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Streets:
    """Courier on a small torus; must reach the depot in the corner."""

    moves = torch.tensor([[0, 1], [1, 0], [0, -1], [-1, 0]])

    def __init__(self, size):
        self.size = size

    def observe(self):
        return torch.cat([F.one_hot(c, self.size) for c in self.at]).float()

    def reset(self):
        self.at = torch.randint(1, self.size, (2,))
        return self.observe()

    def step(self, move):
        self.at = (self.at + self.moves[move]) % self.size
        arrived = bool((self.at == 0).all())
        return self.observe(), 1.0 if arrived else -0.1, arrived


class Courier:
    def __init__(self, n_obs, hidden, lr, gamma):
        self.policy = nn.Sequential(nn.Linear(n_obs, hidden), nn.ReLU(), nn.Linear(hidden, 4))
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.gamma = gamma
        self.history = defaultdict(list)

    def choose(self, obs):
        dist = Categorical(logits=self.policy(obs))
        move = dist.sample()
        self.history["logp"].append(dist.log_prob(move))
        return move.item()

    def feedback(self, reward):
        self.history["reward"].append(reward)

    def finish_episode(self):
        returns, running = [], 0.0
        for r in reversed(self.history["reward"]):
            running = r + self.gamma * running
            returns.insert(0, running)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std(correction=0) + 1e-6)
        loss = torch.stack([-lp * g for lp, g in zip(self.history["logp"], returns)]).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.history.clear()


def main():
    cli = argparse.ArgumentParser()
    cli.add_argument("--size", type=int, default=4)
    cli.add_argument("--episodes", type=int, default=30)
    cli.add_argument("--max-steps", type=int, default=20)
    cli.add_argument("--gamma", type=float, default=0.97)
    cli.add_argument("--lr", type=float, default=1e-2)
    cli.add_argument("--seed", type=int, default=543)
    args = cli.parse_args()

    torch.manual_seed(args.seed)
    streets = Streets(args.size)
    courier = Courier(2 * args.size, 24, args.lr, args.gamma)
    lengths = []
    for episode in range(1, args.episodes + 1):
        obs = streets.reset()
        for t in range(1, args.max_steps + 1):
            obs, reward, arrived = streets.step(courier.choose(obs))
            courier.feedback(reward)
            if arrived:
                break
        courier.finish_episode()
        lengths.append(t)
        if episode % 10 == 0:
            print(f"episode {episode}\tmean length {sum(lengths[-10:]) / 10:.1f}")
    weight = sum(p.abs().sum().item() for p in courier.policy.parameters())
    print(f"RESULT {sum(lengths)} {weight:.6g}")


if __name__ == "__main__":
    main()
