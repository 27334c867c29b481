import numpy as np
import torch
import torch.nn as nn


class ScoreNet(nn.Module):
    def __init__(self, dim, hidden=10):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x))).squeeze(-1)


class BannerMarket:
    """Every round offers a handful of banners, described by context features."""

    def __init__(self, arms, dim, seed):
        self.rng = np.random.RandomState(seed)
        self.arms, self.dim = arms, dim
        self.secret = self.rng.randn(dim)
        self.secret /= np.linalg.norm(self.secret)

    def contexts(self):
        x = self.rng.randn(self.arms, self.dim)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        self.reward = np.cos(3 * x @ self.secret)
        return x

    def pull(self, arm):
        return self.reward[arm] + 0.05 * self.rng.randn(), self.reward.max() - self.reward[arm]


class NeuralUCB:
    def __init__(self, dim, lam=1.0, nu=0.1):
        self.net = ScoreNet(dim)
        self.n = sum(p.numel() for p in self.net.parameters())
        self.U = lam * torch.ones(self.n)
        self.lam, self.nu = lam, nu
        self.contexts, self.rewards = [], []

    def gradient(self):
        return torch.cat([p.grad.flatten() for p in self.net.parameters()])

    def select(self, context):
        x = torch.as_tensor(context, dtype=torch.float32)
        scores = self.net(x)
        upper, grads = [], []
        for score in scores:
            self.net.zero_grad()
            score.backward(retain_graph=True)
            g = self.gradient().clone()
            grads.append(g)
            width = torch.sqrt(self.lam * self.nu * (g * g / self.U).sum())
            upper.append(score.item() + width.item())
        arm = int(np.argmax(upper))
        self.U += grads[arm] * grads[arm]
        return arm, max(upper)

    def learn(self, context, reward, steps=4):
        self.contexts.append(torch.as_tensor(context, dtype=torch.float32))
        self.rewards.append(reward)
        opt = torch.optim.SGD(self.net.parameters(), lr=5e-2, weight_decay=self.lam / 1e3)
        X = torch.stack(self.contexts)
        y = torch.tensor(self.rewards, dtype=torch.float32)
        for _ in range(steps):
            opt.zero_grad()
            loss = ((self.net(X) - y) ** 2).mean()
            loss.backward()
            opt.step()
        return loss.item()


def main(rounds=40, arms=4, dim=6):
    torch.manual_seed(19)
    market = BannerMarket(arms, dim, seed=19)
    agent = NeuralUCB(dim)
    regret, losses = 0.0, []
    for t in range(rounds):
        context = market.contexts()
        arm, bound = agent.select(context)
        reward, gap = market.pull(arm)
        losses.append(agent.learn(context[arm], reward))
        regret += gap
        if t % 10 == 9:
            print(f"round {t + 1} regret {regret:.3f} loss {losses[-1]:.4f} bound {bound:.3f}")
    print(f"RESULT {regret:.6g} {agent.U.sum().item():.6g} {losses[-1]:.6g}")


if __name__ == "__main__":
    main()
