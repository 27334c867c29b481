import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self, wide, narrow):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(wide, 16), nn.Tanh(), nn.Linear(16, narrow))
        self.decoder = nn.Sequential(nn.Linear(narrow, 16), nn.Tanh(), nn.Linear(16, wide))

    def encode(self, x):
        return self.encoder(x)

    def forward(self, x):
        return self.decoder(self.encode(x))


def pretrain(model, x, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x).backward()
        optimizer.step()
    return model.eval()
