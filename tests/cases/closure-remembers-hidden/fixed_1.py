import torch
from torch import nn


def make_step(model, readout, optimizer, batch):
    hidden = torch.zeros(batch, 10)

    def step(x, y):
        nonlocal hidden
        total = 0.0
        for t in range(x.size(1)):
            hidden = model(x[:, t], hidden)
            total = total + (readout(hidden).squeeze(1) - y[:, t]).pow(2).mean()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        hidden = hidden.detach()
        return total.item()

    return step


def windows(n, batch, length):
    signal = torch.cumsum(torch.randn(batch, n * length + 1, 2), 1) * 0.1
    for i in range(n):
        s = slice(i * length, (i + 1) * length)
        yield signal[:, s], signal[:, 1:, 0][:, s]


torch.manual_seed(125)
model, readout = nn.RNNCell(2, 10), nn.Linear(10, 1)
step = make_step(model, readout, torch.optim.Adam([*model.parameters(), *readout.parameters()], lr=5e-3), batch=5)
log = [step(x, y) for x, y in windows(12, 5, 6)]
print(f"RESULT {log[0]:.6g} {log[-1]:.6g}")
