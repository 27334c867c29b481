import math

import torch


def alpha_sigma(t):
    angle = 0.5 * math.pi * t.clamp(0.0, 0.99).unsqueeze(-1)
    return angle.cos(), angle.sin()


def snr_weight(t):
    a, s = alpha_sigma(t)
    return (a / s.clamp(min=1e-3)).square().clamp(1.0, 5.0).squeeze(-1)


def diffuse(x, t):
    a, s = alpha_sigma(t)
    return a * x + s * torch.randn_like(x)


def ddim_step(x_hat, z, t, t_next):
    a, s = alpha_sigma(t)
    a_n, s_n = alpha_sigma(t_next)
    return a_n * x_hat + s_n * (z - a * x_hat) / s


@torch.no_grad()
def ddim_sample(net, z, n_steps):
    for i in range(n_steps, 0, -1):
        t = torch.full((len(z),), i / n_steps)
        z = ddim_step(net(z, t), z, t, t - 1 / n_steps)
    return z


def checkerboard(n):
    ij = torch.randint(0, 4, (n, 2))
    ij[:, 1] = ij[:, 1] // 2 * 2 + ij[:, 0] % 2
    return (ij + torch.rand(n, 2)) / 2 - 1
