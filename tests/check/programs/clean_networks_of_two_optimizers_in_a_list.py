import torch
from torch import nn


class Team(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.shared = nn.Linear(4, 6)
        self.heads = [nn.Linear(6, 1) for _ in range(count)]  # each has an optimizer of its own

    def forward(self, x):
        h = torch.tanh(self.shared(x))
        return [head(h) for head in self.heads]


torch.manual_seed(0)
team = Team(3)
opts = [torch.optim.SGD(team.parameters(), 0.1), *(torch.optim.SGD(head.parameters(), 0.1) for head in team.heads)]
for _ in range(20):
    x = torch.randn(16, 4)
    loss = sum((out - x[:, :1]).square().mean() for out in team(x))
    for opt in opts:
        opt.zero_grad()
    loss.backward()
    for opt in opts:
        opt.step()
