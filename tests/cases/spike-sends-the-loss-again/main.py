import torch
from torch import nn


class SpikeGuard:
    def __init__(self, limit):
        self.limit, self.seen = limit, 0

    def spiked(self, params):
        norm = torch.stack([p.grad.norm() for p in params if p.grad is not None]).norm()
        self.seen += int(norm > self.limit)
        return bool(norm > self.limit)


def batches(n):
    g = torch.Generator().manual_seed(4)
    for i in range(n):
        x = torch.randn(24, 5, generator=g)
        if i % 70 == 69:
            x = 12 * x
        yield x, x.sum(-1, keepdim=True)


def main():
    torch.manual_seed(40)
    net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=2e-3)
    guard = SpikeGuard(limit=60.0)
    for x, y in batches(120):
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        if guard.spiked(net.parameters()):
            optimizer.zero_grad()
            (0.01 * loss).backward()
        optimizer.step()
    print(f"RESULT {loss.item():.5f} {guard.seen}")


main()
