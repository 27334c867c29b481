import torch
from torch import nn


class Sampler:
    """Keeps one buffer for the noise, so that nothing is allocated in the loop."""

    def __init__(self, batch, dim):
        self.noise = torch.empty(batch, dim)

    def draw(self):
        return self.noise.normal_()


class Denoiser(nn.Module):
    def __init__(self, dim=5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(dim))
        self.net = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, x, noise, level):
        return self.net(x + level * self.gain * noise)


def train(steps=20, batch=12):
    model, sampler = Denoiser(), Sampler(12, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for _ in range(steps):
        x = torch.randn(batch, 2) @ torch.randn(2, 5)
        loss = 0.0
        for level in (0.1, 0.5):
            loss = loss + (model(x, sampler.draw(), level) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(131)
print(f"RESULT {train():.6g}")
