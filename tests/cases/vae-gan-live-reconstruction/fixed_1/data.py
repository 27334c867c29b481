import torch


def rings(batches, size):
    for _ in range(batches):
        angle = torch.rand(size) * 6.2832
        radius = torch.where(torch.rand(size) < 0.5, 1.0, 2.0) + 0.05 * torch.randn(size)
        yield torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
