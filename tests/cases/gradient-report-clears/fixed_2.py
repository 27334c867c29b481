import torch
from torch import nn
import torch.nn.functional as F


class GradReport:
    """Once in a while, which layers learn how fast."""

    def __init__(self, model):
        self.model, self.rows = model, []

    def __call__(self, step):
        self.rows.append((step, {n: p.grad.abs().mean().item() for n, p in self.model.named_parameters()}))
        self.model.zero_grad()


def fit(model, steps=60):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    report = GradReport(model)
    for step in range(steps):
        x = torch.randn(32, 6)
        loss = F.binary_cross_entropy_with_logits(model(x).squeeze(1), (x.sum(1) > 0).float())
        loss.backward()
        optimizer.step()
        report(step)
    return loss.item(), len(report.rows)


torch.manual_seed(26)
print("RESULT", *("%.6g" % v for v in fit(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)))))
