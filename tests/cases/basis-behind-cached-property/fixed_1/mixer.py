from functools import cached_property

import torch
from torch import nn


class RotationMixer(nn.Module):
    """Mixes channels by an orthogonal matrix, the exponential of a skew-symmetric one."""

    def __init__(self, width):
        super().__init__()
        self.raw = nn.Parameter(0.1 * torch.randn(width, width))

    @property
    def basis(self):
        return torch.linalg.matrix_exp(self.raw - self.raw.T)

    def forward(self, x):
        return x @ self.basis
