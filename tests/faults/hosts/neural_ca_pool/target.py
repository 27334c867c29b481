import torch


def ring_target(size):
    r = torch.arange(size) - (size - 1) / 2
    d = (r[:, None] ** 2 + r[None, :] ** 2).sqrt()
    alpha = ((d > 1.5) & (d < 4.5)).float()
    hue = torch.stack([(r[:, None] / size + 0.5).expand(size, size), (r[None, :] / size + 0.5).expand(size, size), 0.5 * torch.ones(size, size)])
    return torch.cat([hue * alpha, alpha[None]])
