import torch
from torch import nn
import torch.nn.functional as F


class SoftQuantizer(nn.Module):
    """A codebook that follows the encoder by moving averages instead of gradients."""

    def __init__(self, codes, dim, decay=0.9, temperature=0.5):
        super().__init__()
        self.decay, self.temperature = decay, temperature
        self.register_buffer("codebook", torch.randn(codes, dim))

    def forward(self, z):
        distance = torch.cdist(z, self.codebook)
        weights = F.softmax(-distance / self.temperature, dim=-1)
        quantized = weights @ self.codebook
        if self.training:
            self.follow(z, weights)
        return quantized, distance.min(-1).values.mean()

    @torch.no_grad()
    def follow(self, z, weights):
        mass = weights.sum(0).clamp_min(1e-3)
        mean = weights.T @ z / mass[:, None]
        self.codebook = self.decay * self.codebook + (1 - self.decay) * mean


class Autoencoder(nn.Module):
    def __init__(self, dim=8, latent=3, codes=12):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, latent))
        self.quant = SoftQuantizer(codes, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 24), nn.ReLU(), nn.Linear(24, dim))

    def forward(self, x):
        q, commit = self.quant(self.enc(x))
        return self.dec(q), commit


torch.manual_seed(15)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
mix = torch.randn(3, 8)
for step in range(30):
    x = torch.randn(40, 3).sign() @ mix
    out, commit = model(x)
    loss = F.mse_loss(out, x) + 0.1 * commit
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"RESULT {loss.item():.6g} {model.quant.codebook.norm():.6g}")
