import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Forecaster(nn.Module):
    def __init__(self, width=14):
        super().__init__()
        self.cells = nn.ModuleList([nn.GRUCell(2, width), nn.GRUCell(width, width)])
        self.out = nn.Linear(width, 2)

    def start(self, n):
        return [torch.zeros(n, c.hidden_size) for c in self.cells]

    def tick(self, x, *state):
        fresh = []
        for cell, h in zip(self.cells, state):
            x = cell(x, h)
            fresh.append(x)
        return (self.out(x), *fresh)

    def forward(self, window, state):
        outs = []
        for x in window:
            y, *state = checkpoint(self.tick, x, *state, use_reentrant=False)
            outs.append(y)
        return torch.stack(outs), state


torch.manual_seed(29)
model = Forecaster()
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
t = torch.linspace(0, 30, 241)
series = torch.stack([torch.sin(t), torch.cos(1.3 * t)], -1)[:, None] + 0.02 * torch.randn(241, 6, 2)
curve = []
for epoch in range(2):
    state = model.start(6)
    optimizer.zero_grad()
    for i, at in enumerate(range(0, 240, 12), start=1):
        out, state = model(series[at : at + 12], state)
        loss = nn.functional.mse_loss(out, series[at + 1 : at + 13])
        (loss / 2).backward()
        for h in state:
            h.detach_()
        if i % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
        curve.append(loss.item())
print(f"RESULT {curve[0]:.5f} {curve[-1]:.5f}")
