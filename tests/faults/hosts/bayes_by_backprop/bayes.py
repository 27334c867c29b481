import torch
from torch import Tensor, nn
import torch.nn.functional as F

from outputs import Forecast, LayerOut


class BayesLinear(nn.Module):
    """Factorised Gaussian posterior over weights, Gaussian prior of fixed width."""

    def __init__(self, n_in: int, n_out: int, prior_scale: float = 1.0) -> None:
        super().__init__()
        self.mu = nn.Parameter(torch.randn(n_out, n_in + 1) / n_in ** 0.5)
        self.rho = nn.Parameter(torch.full((n_out, n_in + 1), -3.0))
        self.prior_scale = prior_scale

    def forward(self, x: Tensor) -> LayerOut:
        sigma = F.softplus(self.rho)
        weight = self.mu + sigma * torch.randn_like(sigma)
        variance_ratio = (sigma / self.prior_scale) ** 2
        kl = 0.5 * (variance_ratio + (self.mu / self.prior_scale) ** 2 - 1 - variance_ratio.log()).sum()
        return LayerOut(F.linear(x, weight[:, :-1], weight[:, -1]), kl)


class BayesRegressor(nn.Module):
    def __init__(self, hidden: int = 16) -> None:
        super().__init__()
        self.inner = BayesLinear(1, hidden)
        self.outer = BayesLinear(hidden, 2)

    def forward(self, x: Tensor) -> Forecast:
        inner = self.inner(x)
        outer = self.outer(torch.tanh(inner.activation))
        mean, log_scale = outer.activation.chunk(2, dim=-1)
        return Forecast(mean, log_scale.clamp(-4, 2), inner.kl + outer.kl)
