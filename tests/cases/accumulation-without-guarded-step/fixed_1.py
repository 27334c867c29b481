import torch
from torch import nn
import torch.nn.functional as F


def run_epoch(model, optimizer, batches, accumulate=4):
    total = 0.0
    for i, (x, y) in enumerate(batches):
        loss = F.cross_entropy(model(x), y) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.item() * accumulate
    return total / len(batches)


if __name__ == "__main__":
    torch.manual_seed(156)
    x = torch.randn(192, 5)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    curve = [run_epoch(model, optimizer, list(zip(x.split(12), y.split(12)))) for _ in range(4)]
    print("RESULT", *(f"{c:.6g}" for c in curve))
