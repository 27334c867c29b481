import torch
from torch import nn


class VNet(nn.Module):
    """x-prediction MLP with Fourier time features."""

    def __init__(self, width: int = 48, bands: int = 4) -> None:
        super().__init__()
        self.register_buffer("freqs", 2.0 ** torch.arange(bands))
        self.mlp = nn.Sequential(
            nn.Linear(2 + 2 * bands, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2)
        )

    def forward(self, z, t):
        phase = t.unsqueeze(-1) * self.freqs
        return self.mlp(torch.cat([z, phase.sin(), phase.cos()], dim=-1))

    def l1(self) -> float:
        return sum(p.detach().abs().sum().item() for p in self.parameters())
