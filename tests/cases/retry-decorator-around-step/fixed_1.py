import torch
from torch import nn
import torch.nn.functional as F

from robust import retry


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=5e-3)
        self.failed = 0

    @retry(times=2)
    def step(self, x, y):
        penalty = 1e-3 * sum(p.pow(2).sum() for p in self.model.parameters())
        loss = F.mse_loss(self.model(x), y) + penalty
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def fit(self, batches):
        losses = [self.step(x, y) for x, y in batches]
        self.failed = losses.count(None)
        return [l for l in losses if l is not None]


torch.manual_seed(111)
x = torch.randn(100, 4)
trainer = Trainer(nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 1)))
losses = trainer.fit(list(zip(x.split(10), x.norm(dim=1, keepdim=True).split(10))))
print("RESULT", f"{losses[-1]:.6g}", trainer.failed, f"{trainer.model[0].weight.abs().sum().item():.6g}")
