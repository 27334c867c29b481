# A radiance field in the plane (NeRF one dimension down): cameras on a circle see 1-d images.
# Rays are rendered in chunks, gradients of the chunks add up, one step per view.
import torch
from torch import nn
from math import pi, cos, sin

torch.manual_seed(2020)
PIXELS, SAMPLES, NEAR, FAR = 24, 20, 0.5, 3.5


def encode(p, octaves=4):
    f = 2.0 ** torch.arange(octaves) * pi / 2
    a = (p[..., None] * f).flatten(-2)
    return torch.cat([p, a.sin(), a.cos()], -1)


class Field(nn.Module):
    def __init__(self, w=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 + 16, w), nn.ReLU(True), nn.Linear(w, w), nn.ReLU(True), nn.Linear(w, 4))

    def forward(self, p):
        o = self.net(encode(p))
        return nn.functional.softplus(o[..., 0] - 1), torch.sigmoid(o[..., 1:])


def scene(p):
    """Ground truth: a red disc and a blue square."""
    disc = ((p - torch.tensor([-0.4, 0.2])).norm(dim=-1) < 0.35).float()
    box = ((p - torch.tensor([0.45, -0.25])).abs().amax(-1) < 0.25).float()
    colour = disc[..., None] * torch.tensor([0.9, 0.2, 0.1]) + box[..., None] * torch.tensor([0.1, 0.3, 0.9])
    return 12 * (disc + box), colour


def camera(angle):
    eye = 2 * torch.tensor([cos(angle), sin(angle)])
    fan = torch.linspace(-0.45, 0.45, PIXELS) + angle + pi
    return eye.expand(PIXELS, 2), torch.stack([fan.cos(), fan.sin()], -1)


def render(field, origin, direction, jitter):
    edges = torch.linspace(NEAR, FAR, SAMPLES + 1)
    u = torch.rand(len(origin), SAMPLES) if jitter else torch.full((len(origin), SAMPLES), 0.5)
    t = edges[:-1] + u * (FAR - NEAR) / SAMPLES
    sigma, colour = field(origin[:, None] + t[..., None] * direction[:, None])
    alpha = 1 - torch.exp(-sigma * (FAR - NEAR) / SAMPLES)
    through = torch.cumprod(torch.cat([torch.ones(len(origin), 1), 1 - alpha[:, :-1]], 1), 1)
    return ((alpha * through)[..., None] * colour).sum(1)


views = []
for i in range(10):
    rays = camera(2 * pi * i / 10)
    views.append((rays, render(scene, *rays, jitter=False)))

field = Field()
optimiser = torch.optim.Adam(field.parameters(), lr=1.5e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 60)
psnr = []
for it in range(60):
    (origin, direction), image = views[torch.randint(len(views), ()).item()]
    optimiser.zero_grad()
    mse = 0.0
    for o, d, c in zip(origin.chunk(3), direction.chunk(3), image.chunk(3)):
        error = (render(field, o, d, jitter=True) - c).square().sum() / image.numel()
        error.backward()
        mse += error.item()
    optimiser.step()
    schedule.step()
    psnr.append(-10 * torch.log10(torch.tensor(mse)).item())
    if it % 15 == 14:
        print("%3d  psnr %.2f" % (it + 1, sum(psnr[-15:]) / 15))

with torch.no_grad():
    rays = camera(2 * pi * 0.05)
    unseen = (render(field, *rays, jitter=False) - render(scene, *rays, jitter=False)).square().mean().item()
print("unseen view: mse %.5f" % unseen)
print("RESULT %.6g %.6g %.6g" % (psnr[-1], sum(psnr), unseen))
