import torch
from torch import nn


class UpdateRule(nn.Module):
    """Proposes an update for each coordinate from its gradient."""

    def __init__(self, width=10):
        super().__init__()
        self.cell = nn.LSTMCell(1, width)
        self.out = nn.Linear(width, 1)
        self.width = width

    def start(self, n):
        return torch.zeros(n, self.width), torch.zeros(n, self.width)

    def forward(self, grad, state):
        h, c = self.cell(grad.unsqueeze(-1), state)
        return 0.1 * self.out(h).squeeze(-1), (h, c)


def quadratic(n):
    a, b = torch.randn(n, n) / n**0.5, torch.randn(n)
    return lambda x: (a @ x - b).pow(2).sum()


def meta_train(rule, tasks, horizon, window, n=6):
    meta = torch.optim.Adam(rule.parameters(), lr=3e-3)
    final = []
    for _ in range(tasks):
        objective = quadratic(n)
        theta = torch.randn(n, requires_grad=True)
        state = rule.start(n)
        collected = 0.0
        for t in range(1, horizon + 1):
            loss = objective(theta)
            collected = collected + loss
            grad, = torch.autograd.grad(loss, theta, retain_graph=True)
            update, state = rule(grad.detach(), state)
            theta = theta + update
            if t % window == 0:
                meta.zero_grad()
                collected.backward()
                nn.utils.clip_grad_norm_(rule.parameters(), 1.0)
                meta.step()
                collected = 0.0
        final.append(loss.item())
    return final


torch.manual_seed(71)
final = meta_train(UpdateRule(), tasks=6, horizon=20, window=5)
print(f"RESULT {final[0]:.5f} {final[-1]:.5f}")
