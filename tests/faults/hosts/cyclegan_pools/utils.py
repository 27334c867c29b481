import math
import random

import torch

random.seed(77)


def unpairedPatches(n, size=8, seed=4):
    """A: soft horizontal stripes. B: hard upright stripes."""
    rng = torch.Generator().manual_seed(seed)
    ramp = torch.linspace(0, 2 * math.pi, size)
    waves = torch.sin((1 + torch.rand(2, n, 1, generator=rng)) * ramp + 6.28 * torch.rand(2, n, 1, generator=rng))
    A = 0.8 * waves[0].view(n, 1, size, 1).repeat(1, 1, 1, size)
    B = 0.8 * waves[1].sign().view(n, 1, 1, size).repeat(1, 1, size, 1)
    return torch.utils.data.TensorDataset(A, B)


class ImagePool:
    """History of generated images (Shrivastava et al.): half of what comes out is old."""

    def __init__(self, poolSize):
        self.poolSize = poolSize
        self.images = []

    def query(self, images):
        returned = []
        for image in images.detach():
            if len(self.images) < self.poolSize:
                self.images.append(image.clone())
            elif random.uniform(0, 1) > 0.5:
                slot = random.randint(0, self.poolSize - 1)
                image, self.images[slot] = self.images[slot], image.clone()
            returned.append(image)
        return torch.stack(returned)


def setRequiresGrad(nets, flag):
    for net in nets:
        for p in net.parameters():
            p.requires_grad = flag
