import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, dim, width, n_steps):
        super().__init__()
        self.time = nn.Embedding(n_steps, width)
        self.inp = nn.Linear(2 * dim, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width)) for _ in range(2))
        self.out = nn.Linear(width, dim)

    def forward(self, x, t, hint):
        h = self.inp(torch.cat([x, hint], -1)) + self.time(t)
        for block in self.blocks:
            h = h + block(h)
        return self.out(h)
