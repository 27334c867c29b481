import torch
from torch import nn
import torch.nn.functional as F


def get_batches(n, size):
    g = torch.Generator().manual_seed(0)
    out = []
    for _ in range(n):
        x = torch.randn(size, 3, 8, 8, generator=g)
        out.append((x, (x.mean((1, 2, 3)) > 0).long()))
    return out


def train_epoch(model, optimizer, batches):
    model.train()
    total_loss = 0
    for data, target in batches:
        optimizer.zero_grad()
        output = model(data)
        loss = F.cross_entropy(output, target)
        loss.backward()
        optimizer.step()
        total_loss += loss.detach()
    return total_loss.item() / len(batches)


torch.manual_seed(91)
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = get_batches(40, 8)
for epoch in range(1, 4):
    avg = train_epoch(model, optimizer, batches)
    print(f"Epoch {epoch}: {avg:.5f}")
print(f"RESULT {avg:.6g}")
