#!/usr/bin/env python
# lab 5 - restricted Boltzmann machine, persistent CD.  gradient of the free energy comes from autograd
import torch
import random

random.seed(5)
torch.manual_seed(5)

nv = 20
nh = 12
k = 2
lr = 0.05

W = torch.randn(nv, nh) * 0.05
b = torch.zeros(nv)
c = torch.zeros(nh)
W.requires_grad_()
b.requires_grad_()
c.requires_grad_()
velocity = [torch.zeros_like(p) for p in (W, b, c)]

patterns = [[1 if (i // w) % 2 == 0 else 0 for i in range(nv)] for w in (1, 2, 5, 10)]


def get_batch(n):
    rows = []
    for i in range(n):
        row = list(random.choice(patterns))
        j = random.randrange(nv)
        row[j] = 1 - row[j]
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float)


def F(v):
    return -(v @ b) - torch.nn.functional.softplus(v @ W + c).sum(1)


def gibbs(v):
    with torch.no_grad():
        h = torch.bernoulli(torch.sigmoid(v @ W + c))
        return torch.bernoulli(torch.sigmoid(h @ W.t() + b))


chain = torch.bernoulli(torch.full((32, nv), 0.5))
gap = []
for it in range(150):
    v = get_batch(32)
    for _ in range(k):
        chain = gibbs(chain)
    loss = F(v).mean() - F(chain).mean()
    gW, gb, gc = torch.autograd.grad(loss, [W, b, c])
    with torch.no_grad():
        for p, g, vel in zip((W, b, c), (gW, gb, gc), velocity):
            vel.mul_(0.5).add_(g)
            p -= lr * vel
    gap.append(loss.item())
    if it % 50 == 49:
        print("iter", it + 1, "free energy gap", round(sum(gap[-50:]) / 50, 4))

# how well are patterns restored when a quarter of them is lost?
wrong = 0
with torch.no_grad():
    for p in patterns:
        v = torch.tensor(p, dtype=torch.float).repeat(20, 1)
        v[:, :5] = 0.5
        for _ in range(4):
            h = torch.sigmoid(v @ W + c)
            v[:, :5] = torch.sigmoid(h @ W.t() + b)[:, :5]
        wrong += (v[:, :5].round() != torch.tensor(p[:5], dtype=torch.float)).float().mean().item()
print("restored wrongly: %.3f" % (wrong / len(patterns)))
print("RESULT", "%.6g %.6g %.6g %.6g" % (W.abs().sum().item(), b.sum().item(), c.sum().item(), sum(gap)))
