"""FOMAML on sine tasks."""
import math

import torch
from torch import nn
from torch.func import functional_call


def task(g):
    amp, phase = 0.5 + 2 * torch.rand(1, generator=g), math.pi * torch.rand(1, generator=g)

    def sample(n):
        x = 10 * torch.rand(n, 1, generator=g) - 5
        return x, amp * torch.sin(x + phase)

    return sample


def adapt(net, params, batch, lr=0.02, steps=3):
    x, y = batch
    for _ in range(steps):
        loss = (functional_call(net, params, (x,)) - y).pow(2).mean()
        grads = torch.autograd.grad(loss, list(params.values()))
        params = {k: (p - lr * g).detach().requires_grad_() for (k, p), g in zip(params.items(), grads)}
    return params


torch.manual_seed(43)
g = torch.Generator().manual_seed(1)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
meta_opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(12):
    meta_opt.zero_grad()
    total = 0.0
    for _ in range(4):
        sample = task(g)
        fast = adapt(net, dict(net.named_parameters()), sample(10))
        x, y = sample(10)
        query = (functional_call(net, fast, (x,)) - y).pow(2).mean()
        for p, gr in zip(net.parameters(), torch.autograd.grad(query, list(fast.values()))):
            p.grad = gr if p.grad is None else p.grad + gr
        total += query.item()
    meta_opt.step()
print(f"RESULT {total:.6g}")
