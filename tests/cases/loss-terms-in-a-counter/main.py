from collections import defaultdict

import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self, wide=12, narrow=3):
        super().__init__()
        self.enc, self.mu, self.logvar = nn.Linear(wide, 24), nn.Linear(24, narrow), nn.Linear(24, narrow)
        self.dec = nn.Sequential(nn.Linear(narrow, 24), nn.ReLU(), nn.Linear(24, wide))

    def forward(self, x):
        h = torch.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def terms(x, out, mu, logvar):
    return {"recon": F.mse_loss(out, x), "kl": -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).mean()}


def epoch(model, optimizer, batches, beta):
    running = defaultdict(float)
    for x in batches:
        parts = terms(x, *model(x))
        optimizer.zero_grad()
        (parts["recon"] + beta * parts["kl"]).backward()
        optimizer.step()
        for name, value in parts.items():
            running[name] += value
    return {name: float(total.detach()) / len(batches) for name, total in running.items()}


torch.manual_seed(9)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
data = (torch.randn(30, 32, 3) @ torch.randn(3, 12)).unbind(0)
for e in range(3):
    means = epoch(model, optimizer, data, beta=0.05)
print("RESULT", *(f"{v:.5f}" for v in means.values()))
