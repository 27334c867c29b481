import torch
from torch import nn
import torch.nn.functional as F


class TwoHeads(nn.Module):
    def __init__(self, dim=6, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, width), nn.ReLU())
        self.reg, self.cls = nn.Linear(width, 1), nn.Linear(width, 3)

    def forward(self, x):
        h = self.body(x)
        return self.reg(h).squeeze(1), self.cls(h)


class UncertaintyWeights(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(n))

    def forward(self, losses):
        return sum(torch.exp(-s) * l + s for s, l in zip(self.log_var, losses))


def train(model, balance, batches, lr=0.02):
    optimizer = torch.optim.SGD([*model.parameters(), *balance.parameters()], lr=lr)
    for x, y, c in batches:
        optimizer.zero_grad()
        reg, cls = model(x)
        loss = balance([F.mse_loss(reg, y), F.cross_entropy(cls, c)])
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(61)
batches = []
for _ in range(60):
    x = torch.randn(16, 6)
    batches.append((x, x.sum(1).sin(), x[:, :3].argmax(1)))
model, balance = TwoHeads(), UncertaintyWeights(2)
print(f"RESULT {train(model, balance, batches):.6g}", *(f"{v:.6g}" for v in balance.log_var.tolist()))
