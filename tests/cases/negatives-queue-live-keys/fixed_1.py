from collections import deque

import torch
from torch import nn
import torch.nn.functional as F


class QueueNCE(nn.Module):
    def __init__(self, batches=4, tau=0.2):
        super().__init__()
        self.queue = deque(maxlen=batches)
        self.tau = tau

    def forward(self, q, k):
        q, k = F.normalize(q, dim=1), F.normalize(k, dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ torch.cat([k.flip(0), *self.queue]).t()
        logits = torch.cat([pos, neg], 1) / self.tau
        self.queue.append(k.detach())
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


class Projector(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 6))

    def forward(self, x):
        return self.net(x)


def augment(x, noise=0.1):
    return x + noise * torch.randn_like(x)


def main(steps=25):
    torch.manual_seed(28)
    encoder, criterion = Projector(), QueueNCE()
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05, momentum=0.9)
    data = torch.randn(200, 10)
    for step in range(steps):
        x = data[torch.randint(200, (16,))]
        loss = criterion(encoder(augment(x)), encoder(augment(x)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.6g} {encoder.net[0].weight.abs().sum().item():.6g}")


main()
