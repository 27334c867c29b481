import math
from typing import Iterator

import torch
from torch import Tensor


def ring_stream(batch_size: int, seed: int, radii=(0.6, 1.4)) -> Iterator[Tensor]:
    """Endless batches of points on noisy rings."""
    rng = torch.Generator().manual_seed(seed)
    radii = torch.tensor(radii)
    while True:
        which = torch.randint(len(radii), (batch_size,), generator=rng)
        angle = 2 * math.pi * torch.rand(batch_size, generator=rng)
        radius = radii[which] + 0.03 * torch.randn(batch_size, generator=rng)
        yield torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
