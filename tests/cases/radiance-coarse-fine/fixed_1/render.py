import torch


def composite(raw, depths):
    """raw: rays x samples x 2 (density, brightness)."""
    delta = torch.diff(depths, dim=1, append=depths[:, -1:] + 0.5)
    density = torch.nn.functional.softplus(raw[..., 0])
    alpha = 1 - torch.exp(-density * delta)
    trans = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-7], 1), 1)[:, :-1]
    weights = alpha * trans
    colour = (weights * torch.sigmoid(raw[..., 1])).sum(1)
    return colour, weights


def importance(depths, weights, n, gen):
    pdf = (weights + 1e-4) / (weights + 1e-4).sum(1, keepdim=True)
    cdf = torch.cumsum(pdf, 1)
    u = torch.rand(depths.size(0), n, generator=gen)
    idx = torch.searchsorted(cdf.detach().contiguous(), u).clamp(max=depths.size(1) - 1)
    lower = torch.gather(cdf, 1, (idx - 1).clamp(min=0))
    upper = torch.gather(cdf, 1, idx)
    frac = ((u - lower) / (upper - lower + 1e-5)).clamp(0, 1)
    new = torch.gather(depths, 1, idx) + frac * 0.2
    return torch.sort(torch.cat([depths, new], 1), dim=1).values


def points(origins, directions, depths):
    return origins[:, None] + directions[:, None] * depths[..., None]
