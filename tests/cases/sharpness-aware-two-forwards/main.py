import torch
from torch import nn
import torch.nn.functional as F


class SAM(torch.optim.SGD):
    def __init__(self, params, rho=0.05, **kw):
        super().__init__(params, **kw)
        self.rho = rho

    def each(self):
        return [p for g in self.param_groups for p in g["params"] if p.grad is not None]

    @torch.no_grad()
    def ascend(self):
        scale = self.rho / (torch.stack([p.grad.norm() for p in self.each()]).norm() + 1e-12)
        for p in self.each():
            self.state[p]["eps"] = p.grad * scale
            p.add_(self.state[p]["eps"])
        self.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p in self.each():
            p.sub_(self.state[p]["eps"])
        self.step()
        self.zero_grad()


class Smooth:
    def __init__(self):
        self.value = None

    def __call__(self, x):
        self.value = x if self.value is None else 0.9 * self.value + 0.1 * x
        return self.value


torch.manual_seed(7)
x = torch.randn(120, 6)
y = (x[:, 0] * x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))
optimizer = SAM(model.parameters(), lr=0.1, momentum=0.9)
smooth = Smooth()
for epoch in range(3):
    for xb, yb in zip(x.split(20), y.split(20)):
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.ascend()
        F.cross_entropy(model(xb), yb).backward()
        optimizer.descend()
        smooth(loss.detach())
print(f"RESULT {smooth.value.item():.6g} {model[0].weight.detach().norm():.6g}")
