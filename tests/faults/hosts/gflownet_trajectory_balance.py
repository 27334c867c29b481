"""A GFlowNet on a small hyper-grid, trained by trajectory balance, with a replay of the best terminal states."""
import heapq
from itertools import count

import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(5050)
SIDE, STOP = 6, 2


def reward(x):
    a = (x.float() / (SIDE - 1) - 0.5).abs()
    return 0.05 + 0.5 * (a > 0.25).all(-1).float() + 2.0 * ((a > 0.3) & (a < 0.45)).all(-1).float()


class Policy(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2 * SIDE, width), nn.LeakyReLU(), nn.Linear(width, width), nn.LeakyReLU())
        self.ahead = nn.Linear(width, 3)
        self.back = nn.Linear(width, 2)
        self.log_z = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        h = self.trunk(nn.functional.one_hot(x, SIDE).float().flatten(-2))
        at_edge = torch.cat([x == SIDE - 1, torch.zeros(*x.shape[:-1], 1, dtype=torch.bool)], -1)
        ahead = self.ahead(h).masked_fill(at_edge, -1e9)
        back = self.back(h).masked_fill(x == 0, -1e9)
        return ahead, back


def sample(policy, n, epsilon):
    x = torch.zeros(n, 2, dtype=torch.long)
    alive = torch.ones(n, dtype=torch.bool)
    balance = policy.log_z.expand(n)
    while alive.any():
        ahead, _ = policy(x)
        explore = torch.where(ahead.detach() > -1e8, 0.0, -1e9)
        random = torch.rand(n, 1) < epsilon
        action = Categorical(logits=torch.where(random, explore, ahead.detach())).sample()
        log_ahead = ahead.log_softmax(-1).gather(1, action[:, None])[:, 0]
        moving = alive & (action != STOP)
        new = x + nn.functional.one_hot(action.clamp_max(1), 2) * moving[:, None]
        _, back = policy(new)
        log_back = back.log_softmax(-1).gather(1, action.clamp_max(1)[:, None])[:, 0]
        balance = balance + torch.where(alive, log_ahead, 0.0) - torch.where(moving, log_back, 0.0)
        alive, x = moving, new
    return x, (balance - reward(x).log()).square().mean()


policy = Policy()
optimizer = torch.optim.Adam(
    [
        {"params": [p for n, p in policy.named_parameters() if n != "log_z"], "lr": 4e-3},
        {"params": [policy.log_z], "lr": 0.1},
    ]
)
best, tick, losses = [], count(), []
for step in range(30):
    terminal, loss = sample(policy, 32, epsilon=0.3 * (1 - step / 30))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    for r, x in zip(reward(terminal).tolist(), terminal.tolist()):
        if (r, x) not in [(a, c) for a, _, c in best]:
            heapq.heappush(best, (r, next(tick), x))
            if len(best) > 8:
                heapq.heappop(best)
    if step % 10 == 9:
        print(f"step {step + 1}: trajectory balance {sum(losses[-10:]) / 10:.3f}, log Z {policy.log_z.item():.3f}")

cells = torch.cartesian_prod(torch.arange(SIDE), torch.arange(SIDE))
print(f"true log Z {reward(cells).sum().log().item():.3f}")
with torch.no_grad():
    drawn, _ = sample(policy, 200, epsilon=0.0)
print(f"mean reward {reward(drawn).mean().item():.3f}")
print(f"RESULT {losses[-1]:.6g} {policy.log_z.item():.6g} {reward(drawn).mean().item():.6g} {sum(b[0] for b in best):.6g}")
