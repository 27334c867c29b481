import math

import torch
import torch.nn as nn
import torch.nn.functional as F

ESTIMATORS = {}


def estimator(name):
    def wrap(fn):
        ESTIMATORS[name] = fn
        return fn

    return wrap


@estimator("analytic")
def kl_analytic(w, mu, std, prior_std):
    return (torch.log(prior_std / std) + (std**2 + mu**2) / (2 * prior_std**2) - 0.5).sum()


@estimator("sampled")
def kl_sampled(w, mu, std, prior_std):
    log_q = -0.5 * ((w - mu) / std) ** 2 - std.log()
    log_p = -0.5 * (w / prior_std) ** 2 - prior_std.log()
    return (log_q - log_p).sum()


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out, prior_std=1.0, kl="analytic"):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(n_out, n_in) / math.sqrt(n_in))
        self.rho = nn.Parameter(torch.full((n_out, n_in), -3.0))
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.register_buffer("prior_std", torch.tensor(prior_std))
        self.estimate = ESTIMATORS[kl]
        self.complexity = 0.0

    def forward(self, x):
        std = F.softplus(self.rho)
        w = self.mu + std * torch.randn_like(std)
        if self.training:
            self.complexity += self.estimate(w, self.mu, std, self.prior_std)
        return F.linear(x, w, self.bias)


class BayesNet(nn.Sequential):
    def __init__(self, *widths, **kw):
        mods = []
        for a, b in zip(widths, widths[1:]):
            mods += [BayesLinear(a, b, **kw), nn.SiLU()]
        super().__init__(*mods[:-1])

    def bayes_layers(self):
        return (m for m in self.modules() if isinstance(m, BayesLinear))

    def kl(self):
        return sum(m.complexity for m in self.bayes_layers())

    def reset_kl(self):
        for m in self.bayes_layers():
            m.complexity = 0.0
