import math
import torch

SR = 800
TAGS = ("hum", "chirp", "clicks")


def clip(gen, seconds):
    """One mono stream with tags switching on and off; returns wave and per-sample labels."""
    n = int(SR * seconds)
    t = torch.arange(n) / SR
    labels = torch.zeros(len(TAGS), n)
    for k in range(len(TAGS)):
        on = torch.randint(0, n // 2, (1,), generator=gen).item()
        labels[k, on:on + n // 2] = 1
    hum = torch.sin(2 * math.pi * 50 * t)
    chirp = torch.sin(2 * math.pi * (80 + 90 * (t % 0.25)) * t)
    clicks = (torch.rand(n, generator=gen) < 0.03).float() * 2
    wave = (labels * torch.stack([hum, chirp, clicks])).sum(0)
    return wave + 0.05 * torch.randn(n, generator=gen), labels


def stream(batch, seconds, hop, seed):
    gen = torch.Generator().manual_seed(seed)
    waves, labels = zip(*(clip(gen, seconds) for _ in range(batch)))
    waves, labels = torch.stack(waves).unsqueeze(1), torch.stack(labels)
    for s in range(0, waves.size(-1) - hop + 1, hop):
        yield waves[..., s:s + hop], labels[..., s:s + hop]
