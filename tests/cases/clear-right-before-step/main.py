import torch
from torch import nn


class Refiner(nn.Module):
    def __init__(self, dim=10, latent=4):
        super().__init__()
        self.enc = nn.Linear(2 * dim, latent)
        self.dec = nn.Linear(latent, dim)

    def forward(self, x, y):
        return self.dec(torch.tanh(self.enc(torch.cat([x, y], 1))))


def coach(model, data, n_iters_per_batch=3, epochs=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    log = []
    for epoch in range(epochs):
        for x in data.split(16):
            log.append(train_batch(model, optimizer, x, n_iters_per_batch))
    return log


def train_batch(model, optimizer, x, n_iters):
    y_hat = torch.zeros_like(x)
    for _ in range(n_iters):
        y_hat = model(x, y_hat.detach())
        loss = (y_hat - x).pow(2).mean()
        loss.backward()
    if n_iters:
        optimizer.zero_grad()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(101)
    model = Refiner()
    log = coach(model, torch.randn(80, 3) @ torch.randn(3, 10))
    print("RESULT", f"{log[0]:.6g}", f"{log[-1]:.6g}", f"{model.dec.weight.abs().sum().item():.6g}")
