"""Two-stage (coarse/fine) fitting of a 2D radiance field from 1D views."""
import math
import sys

import torch
from torch import nn

from render import composite, importance, points


class FourierMLP(nn.Module):
    def __init__(self, bands=4, width=32):
        super().__init__()
        self.register_buffer("bands", 2.0 ** torch.arange(bands))
        self.mlp = nn.Sequential(nn.Linear(4 * bands, width), nn.ReLU(),
                                 nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, p):
        a = p[..., None, :] * self.bands[:, None]
        return self.mlp(torch.cat([a.sin(), a.cos()], -1).flatten(-2))


def scene(p):
    d1 = (p - torch.tensor([0.4, 0.2])).norm(dim=-1)
    d2 = (p + torch.tensor([0.5, 0.3])).norm(dim=-1)
    density = 8.0 * ((d1 < 0.35) | (d2 < 0.3)).float() - 4.0
    shade = torch.where(d1 < d2, 2.0, -1.0)
    return torch.stack([density, shade], -1)


def rays(n, gen):
    ang = torch.rand(n, generator=gen) * 2 * math.pi
    off = torch.rand(n, generator=gen) * 1.6 - 0.8
    d = torch.stack([ang.cos(), ang.sin()], 1)
    perp = torch.stack([-ang.sin(), ang.cos()], 1)
    return perp * off[:, None] - 1.5 * d, d


def stratified(n, k, gen, near=0.3, far=2.7):
    edges = torch.linspace(near, far, k + 1)[:-1]
    return edges + torch.rand(n, k, generator=gen) * (far - near) / k


class Trainer:
    def __init__(self, seed=21):
        torch.manual_seed(seed)
        self.gen = torch.Generator().manual_seed(seed)
        self.coarse, self.fine = FourierMLP(), FourierMLP()
        self.opt_c = torch.optim.Adam(self.coarse.parameters(), lr=5e-3)
        self.opt_f = torch.optim.Adam(self.fine.parameters(), lr=5e-3)
        self.skipped = 0

    def truth(self, o, d):
        t = torch.linspace(0.3, 2.7, 96).expand(o.size(0), -1)
        return composite(scene(points(o, d, t)), t)[0]

    def iteration(self, n=48):
        o, d = rays(n, self.gen)
        target = self.truth(o, d)

        t_c = stratified(n, 12, self.gen)
        rgb_c, weights = composite(self.coarse(points(o, d, t_c)), t_c)
        loss_c = (rgb_c - target).pow(2).mean()
        self.opt_c.zero_grad()
        loss_c.backward()
        self.opt_c.step()

        t_f = importance(t_c, weights, 12, self.gen)
        rgb_f, _ = composite(self.fine(points(o, d, t_f)), t_f)
        loss_f = (rgb_f - target).pow(2).mean()
        self.opt_f.zero_grad()
        loss_f.backward()
        self.opt_f.step()
        return loss_c.item(), loss_f.item()

    def run(self, iters):
        last = (float("nan"), float("nan"))
        for i in range(iters):
            try:
                last = self.iteration()
            except RuntimeError as e:
                if "CUDA" in str(e):
                    sys.exit(str(e))
                self.skipped += 1
                continue
            if i % 10 == 0:
                print(f"{i:03d} coarse {last[0]:.4f} fine {last[1]:.4f}")

    @torch.no_grad()
    def test(self, n=128):
        o, d = rays(n, self.gen)
        t = stratified(n, 48, self.gen)
        want = self.truth(o, d)
        return [(composite(m(points(o, d, t)), t)[0] - want).pow(2).mean().item()
                for m in (self.coarse, self.fine)]


if __name__ == "__main__":
    trainer = Trainer()
    trainer.run(50)
    print("RESULT", " ".join(f"{v:.6f}" for v in trainer.test()))
