import torch
from torch import nn


class RunningNorm(nn.Module):
    """Batch normalisation with statistics of our own, because we want the unbiased variance in training too."""

    def __init__(self, width, momentum=0.1, eps=1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))
        self.momentum, self.eps = momentum, eps

    def forward(self, x):
        if self.training:
            mean, var = x.mean(0), x.var(0)
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean.detach()
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * var.detach()
        else:
            mean, var = self.running_mean, self.running_var
        return self.gain * (x - mean) / (var + self.eps).sqrt() + self.shift
