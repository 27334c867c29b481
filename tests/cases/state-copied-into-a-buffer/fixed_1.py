import torch
from torch import nn


class OnlineCell(nn.Module):
    def __init__(self, inp=3, width=10, batch=8):
        super().__init__()
        self.inner, self.outer = nn.Linear(width, width), nn.Linear(inp, width)
        self.out = nn.Linear(width, 1)
        self.register_buffer("state", torch.zeros(batch, width))

    def forward(self, x):
        fresh = torch.tanh(self.inner(self.state) + self.outer(x))
        self.state = fresh.detach()
        return self.out(fresh).squeeze(-1)


torch.manual_seed(84)
model = OnlineCell()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
total = 0.0
for t in range(50):
    x = torch.randn(8, 3)
    loss = (model(x) - x[:, 0]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print(f"RESULT {total / 50:.5f}")
