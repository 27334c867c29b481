from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor


class LayerOut(NamedTuple):
    activation: Tensor
    kl: Tensor


@dataclass
class Forecast:
    mean: Tensor
    log_scale: Tensor
    kl: Tensor

    def nll(self, y: Tensor) -> Tensor:
        return (0.5 * ((y - self.mean) / self.log_scale.exp()) ** 2 + self.log_scale).sum()


class Bound(NamedTuple):
    loss: Tensor
    nll: float
    kl: float
