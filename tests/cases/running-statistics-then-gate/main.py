import torch
from torch import nn


class RunningGate(nn.Module):
    def __init__(self, dim, momentum=0.1):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))
        self.momentum = momentum
        self.register_buffer("mean", torch.ones(dim))

    def forward(self, x):
        gated = self.scale * self.mean
        if self.training:
            with torch.no_grad():
                self.mean.mul_(1 - self.momentum).add_(self.momentum * x.abs().mean(0))
        return x / (1 + gated.abs())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.gate, self.out = nn.Linear(4, 10), RunningGate(10), nn.Linear(10, 1)

    def forward(self, x):
        return self.out(torch.relu(self.gate(self.inp(x)))).squeeze(1)


def fit(net, x, y, epochs=3):
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(epochs):
        for xb, yb in zip(x.split(20), y.split(20)):
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(xb), yb)
            loss.backward()
            opt.step()
    return loss.item()


torch.manual_seed(77)
x = torch.randn(100, 4)
net = Net()
print(f"RESULT {fit(net, x, x[:, 0].abs()):.6g} {net.gate.mean.sum().item():.6g}")
