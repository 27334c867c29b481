import torch
import torch.nn.functional as F


def shapes(n, gen, size=16):
    """filled (0) and hollow (1) discs"""
    axis = torch.arange(size).float()
    c = 5 + 6 * torch.rand(2, n, 1, 1, generator=gen)
    r = 2.5 + 2 * torch.rand(n, 1, 1, generator=gen)
    dy, dx = axis[:, None] - c[0], axis[None, :] - c[1]
    label = torch.randint(2, (n,), generator=gen)
    depth = r - (dx ** 2 + dy ** 2).sqrt()
    depth = torch.where(label[:, None, None] == 0, depth, 1 - depth.abs())
    return torch.sigmoid(3 * depth).unsqueeze(1), label


def low_res(hi):
    return F.avg_pool2d(hi, 2)
