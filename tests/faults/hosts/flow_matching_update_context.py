"""Rectified flow between two point clouds. An update is a `with` block; what happens at its end is written once."""
from contextlib import contextmanager
from types import SimpleNamespace

import torch
import torch.nn as nn


class Velocity(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.time = nn.Linear(1, width)
        self.space = nn.Linear(2, width)
        self.out = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        return self.out(self.time(t) + self.space(x))


class Learner:
    def __init__(self, model, lr=4e-3, decay=0.98):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.99)
        self.average = {k: v.detach().clone() for k, v in model.named_parameters()}
        self.decay = decay
        self.log = []

    @contextmanager
    def update(self):
        self.optimizer.zero_grad()
        box = SimpleNamespace(loss=None)
        yield box
        box.loss.backward()
        self.optimizer.step()
        self.schedule.step()
        self.log.append(box.loss.item())
        with torch.no_grad():
            for k, v in self.model.named_parameters():
                self.average[k].lerp_(v, 1 - self.decay)

    @contextmanager
    def averaged(self):
        kept = {k: v.detach().clone() for k, v in self.model.named_parameters()}
        self.model.load_state_dict(self.average)
        try:
            yield self.model
        finally:
            self.model.load_state_dict(kept)


def source(n):
    return torch.randn(n, 2)


def target(n):
    angle = torch.rand(n) * 3.14159
    return torch.stack([2 * angle.cos(), 2 * angle.sin()], 1) + 0.05 * torch.randn(n, 2)


def transport(model, x, steps=10):
    for k in range(steps):
        t = torch.full((len(x), 1), k / steps)
        x = x + model(x, t) / steps
    return x


torch.manual_seed(2209)
learner = Learner(Velocity())
for step in range(60):
    x0, x1 = source(64), target(64)
    t = torch.rand(64, 1)
    with learner.update() as step_:
        predicted = learner.model((1 - t) * x0 + t * x1, t)
        step_.loss = (predicted - (x1 - x0)).pow(2).mean()
    if step % 20 == 19:
        print(f"step {step + 1}: {sum(learner.log[-20:]) / 20:.4f}")

with learner.averaged() as model, torch.no_grad():
    moved = transport(model, source(200))
radius = moved.norm(dim=1)
print(f"radius {radius.mean():.3f} +- {radius.std():.3f}")
print(f"RESULT {learner.log[-1]:.6g} {radius.mean():.6g} {radius.std():.6g} {moved.abs().sum():.6g}")
