"""Fake microscopy: bright round cells, a few labelled pictures, many unlabelled."""
import numpy as np
import torch

SIDE = 16


def picture(rng):
    yy, xx = np.mgrid[:SIDE, :SIDE]
    mask = np.zeros((SIDE, SIDE), bool)
    for _ in range(rng.integers(1, 4)):
        cy, cx, r = rng.uniform(2, SIDE - 2), rng.uniform(2, SIDE - 2), rng.uniform(2, 4)
        mask |= (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
    img = mask * rng.uniform(0.8, 1.4) + 0.35 * rng.standard_normal((SIDE, SIDE)) + 0.2 * xx / SIDE
    return img, mask


def dataset(n, seed):
    rng = np.random.default_rng(seed)
    imgs, masks = zip(*(picture(rng) for _ in range(n)))
    as_t = lambda a: torch.from_numpy(np.stack(a)).float().unsqueeze(1)
    return as_t(imgs), as_t(masks)


def jitter(x):
    gain = 1 + 0.2 * torch.randn(len(x), 1, 1, 1)
    return gain * x + 0.1 * torch.randn_like(x)
