#!/usr/bin/env python
# Flatland NeRF: recover a 2-D coloured density from 1-D pictures taken around it.
import math

import torch
import torch.nn.functional as F

device = "cpu"
torch.manual_seed(42)

n_views, n_pixels, n_samples = 10, 24, 20
near, far = 0.6, 3.0


def camera(angle):
    c, s = math.cos(angle), math.sin(angle)
    origin = torch.tensor([1.8 * c, 1.8 * s])
    fan = torch.linspace(-0.45, 0.45, n_pixels) + angle + math.pi
    return origin.expand(n_pixels, 2), torch.stack([fan.cos(), fan.sin()], -1)


def scene(p):
    """Two blobs, one red, one blue."""
    a = torch.exp(-((p - torch.tensor([0.35, 0.1])) ** 2).sum(-1) / 0.03)
    b = torch.exp(-((p - torch.tensor([-0.3, -0.25])) ** 2).sum(-1) / 0.06)
    sigma = 12 * (a + b)
    rgb = torch.stack([a, 0 * a, b], -1) / (a + b + 1e-6)[..., None]
    return sigma, rgb


class Field(torch.nn.Module):
    def __init__(self, bands=3, width=32):
        super().__init__()
        self.register_buffer("freq", math.pi * 2.0 ** torch.arange(bands))
        self.l1 = torch.nn.Linear(4 * bands, width)
        self.l2 = torch.nn.Linear(width, width)
        self.head = torch.nn.Linear(width, 4)

    def forward(self, p):
        z = p[..., None] * self.freq
        z = torch.cat([z.sin(), z.cos()], -1).flatten(-2)
        h = F.relu(self.l2(F.relu(self.l1(z))))
        out = self.head(h)
        return F.softplus(out[..., 0]), torch.sigmoid(out[..., 1:])


def march(field, origin, direction, jitter=True):
    edges = torch.linspace(near, far, n_samples + 1)
    delta = edges[1:] - edges[:-1]
    t = edges[:-1] + delta * (torch.rand(len(origin), n_samples) if jitter else 0.5)
    points = origin[:, None] + t[..., None] * direction[:, None]
    sigma, rgb = field(points)
    alpha = 1 - torch.exp(-sigma * delta)

    pixel = torch.zeros(len(origin), 3)
    trans = torch.ones(len(origin))
    for i in range(n_samples):
        weight = trans * alpha[:, i]
        pixel += weight[:, None] * rgb[:, i]
        trans *= 1 - alpha[:, i]
    return pixel, 1 - trans


views = [camera(2 * math.pi * k / n_views) for k in range(n_views)]
with torch.no_grad():
    photos = [march(scene, *v, jitter=False) for v in views]

field = Field().to(device)
opt = torch.optim.Adam(field.parameters(), lr=5e-3)
history = []

for step in range(60):
    k = int(torch.randint(n_views, (1,)))
    pixel, opacity = march(field, *views[k])
    want_pixel, want_opacity = photos[k]
    loss = F.mse_loss(pixel, want_pixel) + 0.1 * F.mse_loss(opacity, want_opacity)
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(float(loss.detach()))
    if step % 20 == 0:
        print(f"step {step:3d}  loss {history[-1]:.5f}")

with torch.no_grad():
    held_out = camera(0.31)
    truth, _ = march(scene, *held_out, jitter=False)
    guess, _ = march(field, *held_out, jitter=False)
    psnr = -10 * torch.log10(F.mse_loss(guess, truth))

print(f"RESULT {sum(history[-10:]) / 10:.6f} {psnr.item():.3f}")
