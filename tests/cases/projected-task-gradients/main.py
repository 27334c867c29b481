import random

import torch
from torch import nn


class Projected:
    """Wraps an optimizer: conflicting gradients of several objectives are projected onto each other's normal planes."""

    def __init__(self, optimizer):
        self.inner = optimizer
        self.params = [p for g in optimizer.param_groups for p in g["params"]]

    def backward(self, objectives):
        grads = []
        for objective in objectives:
            self.inner.zero_grad(set_to_none=True)
            objective.backward(retain_graph=True)
            grads.append(torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten().clone() for p in self.params]))
        merged = []
        for g in grads:
            g = g.clone()
            others = list(grads)
            random.shuffle(others)
            for o in others:
                dot = torch.dot(g, o)
                if dot < 0:
                    g -= dot * o / o.norm().pow(2)
            merged.append(g)
        total, at = torch.stack(merged).sum(0), 0
        for p in self.params:
            p.grad = total[at : at + p.numel()].view_as(p).clone()
            at += p.numel()

    def step(self):
        self.inner.step()


torch.manual_seed(49)
random.seed(0)
trunk = nn.Sequential(nn.Linear(6, 24), nn.Tanh())
heads = nn.ModuleList([nn.Linear(24, 1) for _ in range(3)])
optimizer = Projected(torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=5e-3))
for step in range(40):
    x = torch.randn(32, 6)
    h = trunk(x)
    goals = (x[:, :1], -x[:, :1] * x[:, 1:2], x[:, 2:3].abs())
    losses = [nn.functional.mse_loss(head(h), goal) for head, goal in zip(heads, goals)]
    optimizer.backward(losses)
    optimizer.step()
print("RESULT", " ".join(f"{l.item():.5f}" for l in losses))
