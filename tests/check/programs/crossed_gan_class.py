import torch
from torch import nn


def block(i, o):
    return nn.Sequential(nn.Linear(i, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, o))


class GAN:
    def __init__(self):
        self.gen, self.disc = block(3, 2), block(2, 1)
        self.opt_g = torch.optim.RMSprop(self.gen.parameters(), lr=1e-3)
        self.opt_d = torch.optim.RMSprop(self.disc.parameters(), lr=1e-3)
        self.bce = nn.BCEWithLogitsLoss()

    def step(self, real):
        n = real.shape[0]
        ones, zeros = torch.ones(n, 1), torch.zeros(n, 1)
        fake = self.gen(torch.randn(n, 3))
        self.opt_d.zero_grad()
        d_loss = self.bce(self.disc(real), ones) + self.bce(self.disc(fake), zeros)
        d_loss.backward()
        self.opt_d.step()
        self.opt_g.zero_grad()
        g_loss = self.bce(self.disc(fake), ones)
        g_loss.backward()  # SP106
        self.opt_g.step()
        return d_loss.item(), g_loss.item()


gan = GAN()
for _ in range(10):
    gan.step(torch.randn(8, 2))
