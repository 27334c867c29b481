import math
import torch
from torch.utils.data import TensorDataset, DataLoader


def ring_of_gaussians(n=192, modes=4, radius=2.0, std=0.15):
    k = torch.randint(modes, (n,))
    theta = 2 * math.pi * k / modes
    centres = radius * torch.stack([theta.cos(), theta.sin()], dim=1)
    return centres + std * torch.randn(n, 2)


def loader(batch_size=48):
    return DataLoader(TensorDataset(ring_of_gaussians()), batch_size=batch_size, shuffle=True)
