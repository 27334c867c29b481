import torch
from torch import nn
import torch.nn.functional as F


def train(encoder, ranker, steps=25):
    opt_a = torch.optim.SGD(encoder.parameters(), lr=0.05)
    opt_b = torch.optim.SGD(ranker.parameters(), lr=0.05)
    for step in range(steps):
        x = torch.randn(16, 6)
        z = encoder(x)
        fit = (z.norm(dim=1) - x[:, :3].norm(dim=1)).pow(2).mean()
        opt_a.zero_grad()
        fit.backward()
        opt_a.step()

        with torch.no_grad():
            z = encoder(x)
        score = ranker(z).squeeze(1)
        rank = F.softplus(-(score[:8] - score[8:]) * (x[:8, 0] - x[8:, 0]).sign()).mean()
        opt_a.zero_grad()
        rank.backward()
        opt_b.step()
    return fit.item(), rank.item()


torch.manual_seed(133)
encoder, ranker = nn.Linear(6, 4), nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 1))
print("RESULT", *(f"{v:.6g}" for v in train(encoder, ranker)), f"{ranker[0].weight.abs().sum().item():.6g}")
