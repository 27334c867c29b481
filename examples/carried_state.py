# A GRU that follows a noisy sine wave, one batch of steps after the other.
import math

import torch
from torch import nn

torch.manual_seed(0)

wave = torch.sin(torch.arange(0, 601) * 2 * math.pi / 25) + 0.05 * torch.randn(601)
cell = nn.GRUCell(1, 24)
readout = nn.Linear(24, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *readout.parameters()], lr=1e-2)

hidden = torch.zeros(1, 24)
for start in range(0, 600, 20):
    loss = 0.0
    for t in range(start, start + 20):
        hidden = cell(wave[t].view(1, 1), hidden)
        loss = loss + (readout(hidden).squeeze() - wave[t + 1]) ** 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"steps {start:3d}-{start + 19:3d}  loss {loss.item() / 20:.4f}")
