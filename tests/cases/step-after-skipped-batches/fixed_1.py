import torch
from torch import nn
import torch.nn.functional as F


def hard_examples(model, batches, threshold=0.6, epochs=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    skipped = 0
    for epoch in range(epochs):
        for x, y in batches:
            loss = F.cross_entropy(model(x), y)
            if loss.item() < threshold:
                skipped += 1
            else:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    return skipped, loss.item()


def main():
    torch.manual_seed(103)
    x = torch.randn(160, 6)
    y = (x[:, 0] + 0.3 * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
    skipped, last = hard_examples(model, list(zip(x.split(16), y.split(16))))
    print(f"RESULT {skipped} {last:.6g} {model[0].weight.abs().sum().item():.6g}")


main()
