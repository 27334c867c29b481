import torch
from torch import nn


class RadialBasis(nn.Module):
    def __init__(self, n=10, cutoff=4.0):
        super().__init__()
        self.register_buffer("centers", torch.linspace(0.3, cutoff, n))
        self.gamma = n / cutoff
        self.cutoff = cutoff

    def forward(self, r):
        phi = torch.exp(-(self.gamma * (r.unsqueeze(-1) - self.centers)) ** 2)
        envelope = 0.5 * (torch.cos(torch.pi * r.clamp(max=self.cutoff) / self.cutoff) + 1)
        return phi * envelope.unsqueeze(-1)


class PairPotential(nn.Module):
    """Behler-Parrinello-like: per-atom features from the radial basis, per-atom energies, sum."""

    def __init__(self, n_basis=10, n_hidden=24):
        super().__init__()
        self.rbf = RadialBasis(n_basis)
        self.atomic = nn.Sequential(
            nn.Linear(n_basis, n_hidden), nn.SiLU(), nn.Linear(n_hidden, n_hidden), nn.SiLU(), nn.Linear(n_hidden, 1)
        )
        self.shift = nn.Parameter(torch.zeros(1))

    def energy(self, pos):
        n = pos.shape[1]
        off_diagonal = ~torch.eye(n, dtype=torch.bool)
        delta = pos.unsqueeze(2) - pos.unsqueeze(1)
        r = delta[:, off_diagonal].view(pos.shape[0], n, n - 1, 3).norm(dim=-1)
        features = self.rbf(r).sum(dim=2)
        return self.atomic(features).sum(dim=(1, 2)) + self.shift

    def forward(self, pos, training=True):
        with torch.enable_grad():
            pos = pos.detach().requires_grad_()
            energy = self.energy(pos)
            (gradient,) = torch.autograd.grad(energy.sum(), pos, create_graph=training)
        if not training:
            energy = energy.detach()
        return energy, -gradient
