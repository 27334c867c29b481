import torch
from torch import nn


class Field(nn.Module):
    def __init__(self, dim=2, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, width), nn.Tanh(), nn.Linear(width, dim))

    def forward(self, y):
        return self.net(y)


def rollout(field, y0, steps, dt=0.1):
    ys = [y0]
    for _ in range(steps):
        k1 = field(ys[-1])
        k2 = field(ys[-1] + dt * k1 / 2)
        ys.append(ys[-1] + dt * k2)
    return torch.stack(ys)


def spiral(steps, dt=0.1):
    a = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    ys = [torch.tensor([[2.0, 0.0]])]
    for _ in range(steps):
        ys.append(ys[-1] + dt * ys[-1] @ a.T)
    return torch.stack(ys)


def main(epochs=3, window=8):
    torch.manual_seed(22)
    field = Field()
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    truth = spiral(40)
    for epoch in range(epochs):
        for start in range(0, 40, window):
            path = rollout(field, truth[0], 40)
            piece = slice(start, start + window)
            loss = (path[piece] - truth[piece]).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"RESULT {loss.item():.6g}")


main()
