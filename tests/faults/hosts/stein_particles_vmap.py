"""Bayesian logistic regression by Stein variational gradient descent; the per-particle scores come from torch.func."""
import functools
import math

import torch
from torch.func import grad_and_value, vmap

torch.set_default_dtype(torch.float64)
rng = torch.Generator().manual_seed(64)

D, N, PARTICLES = 3, 90, 12
true_w = torch.tensor([1.5, -2.0, 0.5])
X = torch.randn(N, D, generator=rng)
Y = (torch.rand(N, generator=rng) < torch.sigmoid(X @ true_w)).double()


def log_joint(w, log_alpha, x, y, scale):
    likelihood = -torch.nn.functional.binary_cross_entropy_with_logits(x @ w, y, reduction="sum")
    prior = -0.5 * log_alpha.exp() * w.square().sum() + 0.5 * D * log_alpha
    return scale * likelihood + prior


def kernel(w):
    """RBF with the median heuristic, and the sum of its gradients with respect to the first argument."""
    gaps = w[:, None] - w[None]
    d2 = gaps.square().sum(-1)
    h = d2.median() / math.log(len(w) + 1) + 1e-8
    k = torch.exp(-d2 / h)
    return k, (2 / h * k[..., None] * gaps).sum(1)


particles = torch.randn(PARTICLES, D, generator=rng)
log_alpha = torch.zeros((), requires_grad=True)
hyper = torch.optim.SGD([log_alpha], lr=0.02)
square = torch.zeros_like(particles)
trail = []

for epoch in range(6):
    for rows in torch.randperm(N, generator=rng).split(30):
        x, y, scale = X[rows], Y[rows], N / len(rows)
        # particles: no graph beyond what torch.func makes
        with torch.no_grad():
            score, value = vmap(grad_and_value(functools.partial(
                log_joint, log_alpha=log_alpha.detach(), x=x, y=y, scale=scale)))(particles)
            k, repulsion = kernel(particles)
            phi = (k @ score + repulsion) / PARTICLES
            square.mul_(0.9).addcmul_(phi, phi, value=0.1)
            particles += 0.05 * phi / (square.sqrt() + 1e-6)
        # the prior's precision: empirical Bayes over the particles
        evidence = torch.stack([log_joint(w, log_alpha, x, y, scale) for w in particles]).mean()
        hyper.zero_grad()
        (-evidence).backward()
        hyper.step()
        trail.append(value.mean().item())
    print(f"epoch {epoch}  log joint {sum(trail[-3:]) / 3:8.3f}  alpha {log_alpha.exp().item():.3f}")

mean = particles.mean(0)
print("posterior mean", [round(v, 2) for v in mean.tolist()], "spread", round(particles.std(0).mean().item(), 3))
print("RESULT", " ".join(f"{v:.6g}" for v in [*mean.tolist(), log_alpha.item(), trail[-1]]))
