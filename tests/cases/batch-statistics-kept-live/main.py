import torch
from torch import nn

from layers import RunningNorm


class Tagger(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.inp = nn.Linear(10, width)
        self.norm1 = RunningNorm(width)
        self.mid = nn.Linear(width, width)
        self.norm2 = RunningNorm(width)
        self.out = nn.Linear(width, 3)

    def forward(self, x):
        x = torch.relu(self.norm1(self.inp(x)))
        x = torch.relu(self.norm2(self.mid(x)))
        return self.out(x)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        hit = (model(x).argmax(-1) == y).float().mean().item()
    model.train()
    return hit


def main():
    torch.manual_seed(3)
    x = torch.randn(400, 10)
    y = (x[:, :3] + 0.3 * x[:, 3:6]).argmax(-1)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(12):
        for rows in torch.randperm(400).split(40):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
    print(f"RESULT {accuracy(model, x, y):.4f} {loss.item():.5f}")


if __name__ == "__main__":
    main()
