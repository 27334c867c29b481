import copy
import math
import os

import torch
import torch.nn as nn

from schedule import CosineSchedule, LossTracker

STEPS = int(os.environ.get("STEPS", 80))


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        half = dim // 2
        self.register_buffer("freqs", torch.exp(-math.log(1000) * torch.arange(half) / half))
        self.proj = nn.Sequential(nn.Linear(dim, dim), nn.SiLU())

    def forward(self, t):
        a = t.float().unsqueeze(1) * self.freqs
        return self.proj(torch.cat([a.sin(), a.cos()], 1))


class Denoiser(nn.Module):
    def __init__(self, dim=2, width=48):
        super().__init__()
        self.time = TimeEmbedding(width)
        self.inp = nn.Linear(dim, width)
        self.mid = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.out = nn.Linear(width, dim)

    def forward(self, x, t):
        e = self.time(t)
        h = self.inp(x)
        for layer in self.mid:
            h = h + torch.nn.functional.silu(layer(h + e))
        return self.out(h)


@torch.no_grad()
def update_average(avg, model, decay=0.98):
    for a, p in zip(avg.parameters(), model.parameters()):
        a.lerp_(p, 1 - decay)


def moons(n, gen):
    th = torch.rand(n, generator=gen) * math.pi
    up = torch.rand(n, generator=gen) < 0.5
    x = torch.where(up, th.cos(), 1 - th.cos())
    y = torch.where(up, th.sin(), 0.5 - th.sin())
    return torch.stack([x, y], 1) + 0.05 * torch.randn(n, 2, generator=gen)


@torch.no_grad()
def sample(model, schedule, n, gen):
    x = torch.randn(n, 2, generator=gen)
    ab = schedule.alpha_bar
    for i in range(schedule.T - 1, -1, -1):
        eps = model(x, torch.full((n,), i))
        x0 = ((x - (1 - ab[i]).sqrt() * eps) / ab[i].sqrt()).clamp(-3, 3)
        prev = ab[i - 1] if i > 0 else torch.tensor(1.0)
        x = prev.sqrt() * x0 + (1 - prev).sqrt() * eps
    return x


def main():
    torch.manual_seed(8)
    gen = torch.Generator().manual_seed(9)
    schedule = CosineSchedule(40)
    model = Denoiser()
    avg = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    tracker = LossTracker(schedule.T)

    for step in range(1, STEPS + 1):
        x0 = moons(64, gen)
        t = torch.randint(0, schedule.T, (64,), generator=gen)
        eps = torch.randn(64, 2, generator=gen)
        per_sample = (model(schedule.noise(x0, t, eps), t) - eps).pow(2).mean(1)
        tracker.add(t, per_sample)
        loss = per_sample.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        update_average(avg, model)
        if step % 20 == 0:
            print(f"step {step:3d}  loss {loss.item():.4f}  buckets {tracker.summary()}")

    points = sample(avg, schedule, 128, gen)
    print("RESULT", f"{loss.item():.6f} {points.mean().item():.5f} {points.std().item():.5f}")


if __name__ == "__main__":
    main()
