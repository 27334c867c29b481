import torch
from torch import nn
import torch.nn.functional as F


class GridPositions(nn.Module):
    def __init__(self, rows, cols, dim):
        super().__init__()
        self.row = nn.Parameter(torch.randn(rows, 1, dim) * 0.02)
        self.col = nn.Parameter(torch.randn(1, cols, dim) * 0.02)

    def forward(self):
        return (self.row + self.col).flatten(0, 1)


class PatchClassifier(nn.Module):
    def __init__(self, rows=4, cols=4, dim=16, classes=3):
        super().__init__()
        self.patch = nn.Linear(4, dim)
        self.positions = GridPositions(rows, cols, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, classes)

    def forward(self, patches, pos):
        x = self.patch(patches) + pos
        return self.head(self.layer(x).mean(1))


def quadrant_task(n):
    img = torch.randn(n, 16, 4)
    spot = torch.randint(16, (n,))
    img[torch.arange(n), spot] += 2.0
    return img, spot % 3


def main(epochs=3):
    torch.manual_seed(101)
    model = PatchClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    x, y = quadrant_task(96)
    pos = model.positions()
    for _ in range(epochs):
        for xb, yb in zip(x.split(24), y.split(24)):
            loss = F.cross_entropy(model(xb, pos), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"RESULT {loss.item():.6g} {model.positions.row.detach().norm():.6g}")


main()
