"""Gradients are cleared, each in its own way; a weight that is only clamped is not stepped with."""

import torch

w = torch.randn(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
c = torch.ones(1, requires_grad=True)
for x in torch.randn(20, 8, 3):
    loss = (c * (x @ w + b)).pow(2).mean()
    for p in (w, b, c):
        p.grad = None
    loss.backward()
    with torch.no_grad():
        for p in (w, b, c):
            p -= 0.1 * p.grad

d = torch.randn(3, 1, requires_grad=True)
for x in torch.randn(20, 8, 3):
    (x @ d).pow(2).mean().backward()
    d.data.sub_(0.1 * d.grad.data)
    d.grad.data.zero_()

e = torch.randn(3, 1, requires_grad=True)
norms = []
for x in torch.randn(20, 8, 3):
    (x @ e).pow(2).mean().backward()
    norms.append(e.grad.norm().item())
    e.data.clamp_(-1, 1)
