import torch
from torch import nn


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 24), nn.LeakyReLU(0.2), nn.Linear(24, o))


class VAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.encode, self.decode = mlp(2, 2 * latent), mlp(latent, 2)

    def forward(self, x):
        mu, logvar = self.encode(x).chunk(2, 1)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.decode(z), mu, logvar
