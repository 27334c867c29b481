"""Losses are plain data; what they compute is chosen by their type."""
from dataclasses import dataclass
from functools import singledispatch

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class VICReg:
    variance: float = 25.0
    covariance: float = 1.0


@dataclass(frozen=True)
class Barlow:
    off_diagonal: float = 5e-3


def off_diagonal(m):
    return m - torch.diag(torch.diagonal(m))


@singledispatch
def penalty(objective, a, b):
    raise TypeError(type(objective).__name__)


@penalty.register
def _(objective: VICReg, a, b):
    def spread(z):
        return F.relu(1 - (z.var(0) + 1e-4).sqrt()).mean()

    def decorrelate(z):
        z = z - z.mean(0)
        return off_diagonal(z.T @ z / (len(z) - 1)).square().sum() / z.shape[1]

    return {
        "invariance": F.mse_loss(a, b),
        "variance": objective.variance * (spread(a) + spread(b)) / 2,
        "covariance": objective.covariance * (decorrelate(a) + decorrelate(b)),
    }


@penalty.register
def _(objective: Barlow, a, b):
    c = ((a - a.mean(0)) / a.std(0)).T @ ((b - b.mean(0)) / b.std(0)) / len(a)
    return {
        "diagonal": (torch.diagonal(c) - 1).square().sum(),
        "off": objective.off_diagonal * off_diagonal(c).square().sum(),
    }
