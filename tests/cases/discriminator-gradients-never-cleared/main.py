import torch
from torch import nn, optim
import torch.nn.functional as F


class Invert:
    def __init__(self):
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
        self.generator = nn.Linear(4, 8).requires_grad_(False)
        self.discriminator = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))


def train(nets, steps=30):
    opt_e = optim.Adam(nets.encoder.parameters(), lr=2e-3)
    opt_d = optim.SGD(nets.discriminator.parameters(), lr=0.02)
    for i in range(steps):
        real = nets.generator(torch.randn(16, 4)) + 0.05 * torch.randn(16, 8)
        rec = nets.generator(nets.encoder(real))
        loss_e = F.mse_loss(rec, real) + 0.1 * F.softplus(-nets.discriminator(rec)).mean()
        opt_e.zero_grad()
        loss_e.backward()
        opt_e.step()

        with torch.no_grad():
            rec = nets.generator(nets.encoder(real))
        loss_d = F.softplus(-nets.discriminator(real)).mean() + F.softplus(nets.discriminator(rec)).mean()
        loss_d.backward()
        opt_d.step()
        if i % 10 == 0:
            print(i, round(loss_e.item(), 4), round(loss_d.item(), 4))
    return loss_e.item(), loss_d.item()


torch.manual_seed(98)
nets = Invert()
print("RESULT", *(f"{v:.6g}" for v in train(nets)), f"{nets.discriminator[0].weight.abs().sum().item():.6g}")
