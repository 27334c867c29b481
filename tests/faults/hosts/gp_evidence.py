"""Gaussian process regression, hyperparameters by maximum marginal likelihood, a few restarts.

Kernels are small objects that can be added and multiplied.
"""
import math
from collections import OrderedDict

import torch

torch.set_default_dtype(torch.float64)


class Kernel:
    def __init__(self, **init):
        self.raw = OrderedDict((k, torch.tensor(math.log(v), requires_grad=True)) for k, v in init.items())

    def __getattr__(self, key):
        try:
            return self.__dict__["raw"][key].exp()
        except KeyError:
            raise AttributeError(key)

    def __add__(self, other):
        return _Combined(self, other, torch.add)

    def __mul__(self, other):
        return _Combined(self, other, torch.mul)

    def parameters(self):
        return list(self.raw.values())


class RBF(Kernel):
    def __call__(self, a, b):
        return self.variance * torch.exp(-0.5 * (a[:, None] - b[None, :]) ** 2 / self.scale ** 2)


class Periodic(Kernel):
    def __call__(self, a, b):
        s = torch.sin(math.pi * (a[:, None] - b[None, :]).abs() / self.period)
        return torch.exp(-2 * s ** 2 / self.scale ** 2)


class _Combined(Kernel):
    def __init__(self, left, right, op):
        super().__init__()
        self.left, self.right, self.op = left, right, op

    def __call__(self, a, b):
        return self.op(self.left(a, b), self.right(a, b))

    def parameters(self):
        return self.left.parameters() + self.right.parameters()


class GP:
    def __init__(self, kernel, noise):
        self.kernel = kernel
        self.log_noise = torch.tensor(math.log(noise), requires_grad=True)

    def parameters(self):
        return self.kernel.parameters() + [self.log_noise]

    def _factor(self, x):
        K = self.kernel(x, x) + (self.log_noise.exp() ** 2 + 1e-8) * torch.eye(len(x))
        return torch.linalg.cholesky(K)

    def neg_log_evidence(self, x, y):
        chol = self._factor(x)
        alpha = torch.cholesky_solve(y[:, None], chol)[:, 0]
        return 0.5 * y @ alpha + chol.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, x, y, x_new):
        chol = self._factor(x)
        k = self.kernel(x, x_new)
        mean = k.T @ torch.cholesky_solve(y[:, None], chol)[:, 0]
        v = torch.linalg.solve_triangular(chol, k, upper=False)
        var = self.kernel(x_new, x_new).diagonal() - (v ** 2).sum(0)
        return mean, var.clamp_min(0)


def log_prior(params):
    # weak lognormal priors keep the restarts in a sane region
    return sum(-0.5 * (p / 2.0) ** 2 for p in params)


def fit(gp, x, y, iters):
    opt = torch.optim.Rprop(gp.parameters(), lr=0.05)
    values = []
    for _ in range(iters):
        opt.zero_grad()
        objective = gp.neg_log_evidence(x, y) - log_prior(gp.parameters())
        objective.backward()
        opt.step()
        values.append(objective.item())
    return values


def main():
    torch.manual_seed(12)
    x = torch.sort(torch.rand(25) * 6).values
    y = torch.sin(2 * math.pi * x / 1.5) * torch.exp(-0.1 * x) + 0.3 * x + 0.1 * torch.randn(25)
    y = y - y.mean()

    fits = []
    for restart, period in enumerate([1.0, 1.4, 2.2]):
        kernel = RBF(variance=1.0, scale=3.0) * Periodic(period=period, scale=1.0) + RBF(variance=0.5, scale=2.0)
        gp = GP(kernel, noise=0.3)
        values = fit(gp, x, y, iters=13)
        print(f"restart {restart}: {values[0]:.3f} -> {values[-1]:.3f}")
        fits.append((values[-1], gp))

    best_value, best = min(fits, key=lambda f: f[0])
    mean, var = best.predict(x, y, torch.linspace(0, 6.5, 14))
    print("noise %.4f, mean predictive sd %.4f" % (best.log_noise.exp().item(), var.sqrt().mean().item()))
    totals = [sum(p.item() for p in gp.parameters()) for _, gp in fits]
    print("RESULT", *("%.6g" % t for t in totals), "%.6g %.6g" % (best_value, mean.abs().sum().item()))


if __name__ == "__main__":
    main()
