import torch
from torch import nn
from torch.nn import functional as F

from miner import NegativeMiner


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def triplets(embedder, miner, x, y):
    z = embedder(x)
    total = z.new_zeros(())
    for anchor, label in zip(z.split(1), y.tolist()):
        positive = z[y == label].mean(0, keepdim=True)
        negatives = miner.hardest(anchor, label)
        if negatives is not None:
            total = total + F.triplet_margin_loss(anchor, positive, negatives, margin=0.3)
    miner.remember(z, y)
    return total / len(x)


def main():
    torch.manual_seed(39)
    embedder, miner = Embedder(), NegativeMiner(per_class=6)
    optimizer = torch.optim.SGD(embedder.parameters(), lr=0.05)
    centres = torch.randn(7, 12)
    last = 0.0
    for step in range(50):
        y = torch.randint(0, 7, (16,))
        x = centres[y] + 0.4 * torch.randn(16, 12)
        loss = triplets(embedder, miner, x, y)
        if loss.requires_grad and loss > 0:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        last = float(loss)
    print(f"RESULT {last:.5f}")


main()
