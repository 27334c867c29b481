import torch
from torch import nn


class Imputer(nn.Module):
    """Predicts each reading from the state so far and goes on with the prediction where the reading is missing."""

    def __init__(self, sensors=4, width=20):
        super().__init__()
        self.cell = nn.GRUCell(sensors, width)
        self.read = nn.Linear(width, sensors)

    def forward(self, x, seen):
        h = x.new_zeros(len(x), self.cell.hidden_size)
        error = 0.0
        for t in range(x.size(1) - 1):
            h = self.cell(x[:, t], h)
            guess = self.read(h)
            known = seen[:, t + 1]
            error = error + ((guess - x[:, t + 1])[known]).pow(2).mean()
            x = x.clone()
            x[:, t + 1] = torch.where(known, x[:, t + 1], guess.detach())
        return error / (x.size(1) - 1)


def waves(n, length, sensors):
    t = torch.linspace(0, 6, length)
    phase = 6 * torch.rand(n, 1, sensors)
    x = torch.sin(t[None, :, None] + phase)
    return x, torch.rand(n, length, sensors) > 0.3


torch.manual_seed(60)
model = Imputer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    series, seen = waves(16, 12, 4)
    loss = model(series, seen)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"RESULT {loss.item():.5f}")
