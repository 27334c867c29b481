import torch
from torch import nn
import torch.nn.functional as F


def addmm_nodes(fn, seen):
    if fn is None or fn in seen:
        return
    seen.add(fn)
    if fn.name() == "AddmmBackward0":
        yield fn
    for nxt, _ in fn.next_functions:
        yield from addmm_nodes(nxt, seen)


class FactorTracker:
    """Running input covariances of the linear layers, for a curvature estimate."""

    def __init__(self, decay=0.95):
        self.decay, self.factors = decay, []

    def update(self, loss):
        for i, node in enumerate(addmm_nodes(loss.grad_fn, set())):
            a = node._saved_mat1
            cov = a.T @ a / len(a)
            if i == len(self.factors):
                self.factors.append(cov)
            else:
                self.factors[i].mul_(self.decay).add_(cov, alpha=1 - self.decay)

    def trace(self):
        return sum(f.trace().item() for f in self.factors)


def train(model, steps=30, warmup=10):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tracker = FactorTracker()
    for step in range(steps):
        x = torch.randn(32, 5)
        loss = F.mse_loss(model(x).squeeze(1), x.square().sum(1) / 5)
        optimizer.zero_grad()
        loss.backward()
        if step >= warmup:
            tracker.update(loss)
        optimizer.step()
    return loss.item(), tracker.trace()


torch.manual_seed(52)
net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
print("RESULT", *("%.6g" % v for v in train(net)))
