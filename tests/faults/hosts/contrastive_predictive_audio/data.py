import math

import torch


def waves(cfg, epoch):
    gen = torch.Generator().manual_seed(cfg["seed"] * 100 + epoch)
    samples = cfg["frames"] * cfg["frame"]
    t = torch.arange(samples) / cfg["frame"]
    for _ in range(cfg["clips"]):
        pitch = 0.3 + torch.rand(cfg["batch"], 1, generator=gen)
        phase = 2 * math.pi * torch.rand(cfg["batch"], 1, generator=gen)
        wave = torch.sin(2 * math.pi * pitch * t + phase) + 0.1 * torch.randn(cfg["batch"], samples, generator=gen)
        yield wave.view(cfg["batch"], cfg["frames"], cfg["frame"])
