import torch


def pairs(steps, size, dim):
    for _ in range(steps):
        yield torch.randn(size, dim) + 1, 0.5 * torch.randn(size, dim) - 1
