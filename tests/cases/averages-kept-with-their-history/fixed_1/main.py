import torch
from torch import nn

from ema import WeightAverage


class NoisePredictor(nn.Module):
    def __init__(self, dim=6, width=32):
        super().__init__()
        self.time = nn.Embedding(20, width)
        self.inp, self.out = nn.Linear(dim, width), nn.Linear(width, dim)

    def forward(self, x, t):
        return self.out(torch.nn.functional.silu(self.inp(x) + self.time(t)))


class Diffusion:
    def __init__(self, steps=20):
        beta = torch.linspace(1e-3, 0.2, steps)
        self.keep = torch.cumprod(1 - beta, 0)

    def noised(self, x, t):
        noise = torch.randn_like(x)
        k = self.keep[t].unsqueeze(-1)
        return k.sqrt() * x + (1 - k).sqrt() * noise, noise


def main():
    torch.manual_seed(66)
    model, process = NoisePredictor(), Diffusion()
    ema = WeightAverage(model, 0.99)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    data = torch.randn(256, 2) @ torch.randn(2, 6)
    for epoch in range(6):
        for x in data[torch.randperm(256)].split(32):
            t = torch.randint(0, 20, (len(x),))
            noisy, noise = process.noised(x, t)
            loss = nn.functional.mse_loss(model(noisy, t), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update()
    ema.copy_to(model)
    print(f"RESULT {loss.item():.5f} {model.out.weight.abs().sum().item():.5f}")


main()
