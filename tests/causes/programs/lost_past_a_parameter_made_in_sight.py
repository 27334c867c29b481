# lost-history: score; keep-history
import torch

torch.manual_seed(0)


class Warp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.log_slope = torch.nn.Parameter(torch.zeros(()))
        self.shift = torch.nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return torch.sigmoid(x / self.log_slope.exp() + self.shift)


def gaps(p, y):
    found = []
    for low in (0.0, 0.5):
        inside = (p >= low) & (p < low + 0.5)
        if inside.any():
            gap = (p[inside].mean() - y[inside].mean()).abs()
            found.append(gap)
    return found


def scored(p, y):
    return torch.tensor(gaps(p, y)).sum()  #! built


def train():
    x = torch.randn(50)
    y = (x > 0).float()
    warp = Warp()
    optimizer = torch.optim.Adam(warp.parameters(), lr=0.05)
    for _ in range(4):
        optimizer.zero_grad()
        score = scored(warp(x), y)
        score.backward()  #! failed
        optimizer.step()


train()
