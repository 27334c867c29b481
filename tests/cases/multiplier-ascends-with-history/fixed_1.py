import torch
from torch import nn


class Budget:
    """Keeps the mean of some quantity below a limit, by dual ascent."""

    def __init__(self, limit, rate):
        self.limit, self.rate = limit, rate
        self.multiplier = torch.zeros(())

    def penalty(self, quantity):
        violation = quantity.mean() - self.limit
        term = self.multiplier * violation
        self.multiplier = torch.clamp(self.multiplier + self.rate * violation.detach(), min=0.0)
        return term


class Allocator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.SiLU(), nn.Linear(24, 2))

    def forward(self, x):
        gain, spend = nn.functional.softplus(self.net(x)).unbind(-1)
        return gain, spend


def main():
    torch.manual_seed(55)
    model, budget = Allocator(), Budget(limit=0.4, rate=0.2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(80):
        x = torch.randn(48, 6)
        gain, spend = model(x)
        utility = (gain.clamp(max=3.0) * spend.sqrt() - 0.1 * gain).mean()
        objective = -utility + budget.penalty(spend)
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()
    print(f"RESULT {utility.item():.5f} {float(budget.multiplier):.5f}")


main()
