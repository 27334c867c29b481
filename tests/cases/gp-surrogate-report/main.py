"""Surrogate for Bayesian optimisation: an exact GP with ARD lengthscales, fitted by its marginal likelihood."""
import math

import torch
from torch import nn

import report


def branin(x):
    a, b = 15 * x[:, 0] - 5, 15 * x[:, 1]
    y = (b - 5.1 / (4 * math.pi ** 2) * a ** 2 + 5 / math.pi * a - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * a.cos() + 10
    return (y - 54) / 51


class GP(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.raw_len = nn.Parameter(torch.full((d,), -0.5, dtype=torch.double))
        self.raw_amp = nn.Parameter(torch.zeros((), dtype=torch.double))
        self.raw_noise = nn.Parameter(torch.tensor(-3.0, dtype=torch.double))

    def cov(self, a, b):
        ell = nn.functional.softplus(self.raw_len)
        d2 = ((a / ell)[:, None] - (b / ell)[None]).square().sum(-1)
        return self.raw_amp.exp() * torch.exp(-0.5 * d2)

    def nll(self, x, y):
        k = self.cov(x, x) + (self.raw_noise.exp() + 1e-5) * torch.eye(len(x), dtype=x.dtype)
        chol = torch.linalg.cholesky(k)
        alpha = torch.cholesky_solve(y[:, None], chol)
        return 0.5 * (y @ alpha).squeeze() + chol.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)

    @torch.no_grad()
    def lower_bound(self, x, y, cand):
        k = self.cov(x, x) + (self.raw_noise.exp() + 1e-5) * torch.eye(len(x), dtype=x.dtype)
        ks = self.cov(cand, x)
        mean = ks @ torch.linalg.solve(k, y)
        var = self.raw_amp.exp() - (ks * torch.linalg.solve(k, ks.t()).t()).sum(1)
        return mean - 1.5 * var.clamp_min(1e-9).sqrt()


def fit(gp, x, y, iters, every=10):
    adam = torch.optim.Adam(gp.parameters(), lr=0.05)
    conds = []
    for it in range(iters):
        adam.zero_grad()
        value = gp.nll(x, y)
        value.backward()
        adam.step()
        if it % every == 0:
            conds.extend(report.conditioning(value))
    return value.item(), conds


def main():
    torch.manual_seed(12)
    x = torch.rand(8, 2, dtype=torch.double)
    y = branin(x)
    worst = 0.0
    for query in range(4):
        gp = GP(2)
        nll, conds = fit(gp, x, y, 30)
        worst = max([worst, *conds])
        cand = torch.rand(200, 2, dtype=torch.double)
        best = cand[gp.lower_bound(x, y, cand).argmin()][None]
        x, y = torch.cat([x, best]), torch.cat([y, branin(best)])
        print(f"query {query}: nll {nll:.3f} incumbent {y.min().item():.4f} worst cond {worst:.1f}")
    print(f"RESULT {y.min().item():.6g} {nll:.6g} {worst:.6g}")


if __name__ == "__main__":
    main()
