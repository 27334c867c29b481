import torch
from torch import nn
from torch.nn import functional as F

from club import UpperBound


class Disentangler(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 24), nn.ReLU())
        self.content, self.style = nn.Linear(24, 5), nn.Linear(24, 3)
        self.decoder = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 10))

    def encode(self, x):
        h = self.trunk(x)
        return self.content(h), self.style(h)


def main():
    torch.manual_seed(31)
    model, bound = Disentangler(), UpperBound(5, 3)
    opt_model = torch.optim.Adam(model.parameters(), lr=2e-3)
    opt_bound = torch.optim.Adam(bound.parameters(), lr=2e-3)
    for step in range(50):
        x = torch.randn(64, 6) @ torch.randn(6, 10)
        content, style = model.encode(x)
        opt_bound.zero_grad()
        bound.learning_loss(content.detach(), style.detach()).backward()
        opt_bound.step()
        recon = F.mse_loss(model.decoder(torch.cat([content, style], -1)), x)
        loss = recon + 0.1 * bound(content, style)
        opt_model.zero_grad()
        loss.backward()
        opt_model.step()
    print(f"RESULT {recon.item():.5f}")


main()
