import torch
from torch import nn
import torch.nn.functional as F


def fake_quant(x, bits, scale):
    n = 2 ** (bits - 1) - 1
    q = torch.clamp(torch.round(x / scale * n), -n, n) * scale / n
    return x + (q - x).detach()


class RangeObserver:
    """running maximum of |activation|"""

    def __init__(self, momentum=0.9):
        self.momentum, self.amax = momentum, None

    def see(self, x):
        a = x.detach().abs().max().item()
        self.amax = a if self.amax is None else self.momentum * self.amax + (1 - self.momentum) * a
        return max(self.amax, 1e-6)


class QLinear(nn.Linear):
    def __init__(self, n_in, n_out, bits):
        super().__init__(n_in, n_out)
        self.bits = bits
        self.observer = RangeObserver()
        self.register_buffer("mask", torch.ones(n_out, n_in))

    def effective_weight(self):
        w = self.weight * self.mask
        return fake_quant(w, self.bits, w.detach().abs().max())

    def forward(self, x):
        scale = self.observer.see(x) if self.training else self.observer.amax
        return F.linear(fake_quant(x, self.bits, scale), self.effective_weight(), self.bias)
