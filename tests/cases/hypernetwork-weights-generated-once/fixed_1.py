import torch
from torch import nn
import torch.nn.functional as F


class Hyper(nn.Module):
    def __init__(self, n_in=4, width=8):
        super().__init__()
        self.n_in, self.width = n_in, width
        self.net = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, n_in * width + width))

    def forward(self, task):
        flat = self.net(task)
        return flat[: self.n_in * self.width].view(self.width, self.n_in), flat[self.n_in * self.width:].view(1, -1)


def target_net(x, weights):
    w1, w2 = weights
    return F.linear(torch.tanh(F.linear(x, w1)), w2).squeeze(1)


def train(hyper, tasks, epochs=2):
    optimizer = torch.optim.Adam(hyper.parameters(), lr=3e-3)
    for _ in range(epochs):
        total = run_tasks(hyper, optimizer, tasks)
    return total


def run_tasks(hyper, optimizer, tasks):
    total = 0.0
    for task, batches in tasks:
        for x, y in batches:
            weights = hyper(task)
            loss = F.mse_loss(target_net(x, weights), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
    return total


def make_tasks(n):
    for _ in range(n):
        task, rule = torch.randn(3), torch.randn(4)
        xs = torch.randn(3, 10, 4)
        yield task, [(x, torch.tanh(x @ rule)) for x in xs]


torch.manual_seed(126)
print(f"RESULT {train(Hyper(), list(make_tasks(5))):.6g}")
