import torch
from torch import nn, optim


class AutoEncoder(nn.Module):
    def __init__(self, dim, code):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, code))
        self.decoder = nn.Sequential(nn.Linear(code, 16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, x):
        z = self.encoder(x)
        z = z + 0.01 * torch.randn_like(z)
        return self.decoder(z)


def fit(model, data, epochs=5):
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        total = 0.0
        for x in data.split(20):
            optimizer.zero_grad()
            loss = (model(x) - x).pow(2).mean()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} {total:.4f}")
    return total


torch.manual_seed(106)
model = AutoEncoder(12, 3)
print(f"RESULT {fit(model, torch.randn(120, 3) @ torch.randn(3, 12)):.6g} {model.encoder[0].weight.abs().sum().item():.6g}")
