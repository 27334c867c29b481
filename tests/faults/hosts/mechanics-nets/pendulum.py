"""Ideal pendulum with unit mass, length, gravity."""
import torch

G = 1.0


def true_field(q, w):
    return w, -G * torch.sin(q)


def rk4(field, q, w, dt):
    a1, b1 = field(q, w)
    a2, b2 = field(q + dt / 2 * a1, w + dt / 2 * b1)
    a3, b3 = field(q + dt / 2 * a2, w + dt / 2 * b2)
    a4, b4 = field(q + dt * a3, w + dt * b3)
    return q + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4), w + dt / 6 * (b1 + 2 * b2 + 2 * b3 + b4)


def snapshots(n, gen, noise=0.01):
    q = (torch.rand(n, 1, generator=gen) - 0.5) * 4
    w = (torch.rand(n, 1, generator=gen) - 0.5) * 3
    dq, dw = true_field(q, w)
    eps = lambda: noise * torch.randn(n, 1, generator=gen)
    return q, w, dq + eps(), dw + eps()


def energy(q, w):
    return 0.5 * w ** 2 + G * (1 - torch.cos(q))
