from itertools import chain

import torch
from torch import nn
import torch.nn.functional as F


def generator(dim):
    return nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, dim))


def critic(dim):
    return nn.Sequential(nn.Linear(dim, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))


class CycleModel:
    def __init__(self, dim, lam=5.0):
        self.lam = lam
        self.G_ab, self.G_ba = generator(dim), generator(dim)
        self.D_a, self.D_b = critic(dim), critic(dim)
        self.optim_G = torch.optim.Adam(chain(self.G_ab.parameters(), self.G_ba.parameters()), lr=1e-3)
        self.optim_D = torch.optim.Adam(chain(self.D_a.parameters(), self.D_b.parameters()), lr=1e-3)

    def gan(self, score, real):
        return F.mse_loss(score, torch.full_like(score, float(real)))

    def update(self, a, b):
        fake_b, fake_a = self.G_ab(a), self.G_ba(b)
        cycle = F.l1_loss(self.G_ba(fake_b), a) + F.l1_loss(self.G_ab(fake_a), b)
        adv = self.gan(self.D_b(fake_b), True) + self.gan(self.D_a(fake_a), True)
        loss_G = adv + self.lam * cycle

        loss_D = self.gan(self.D_a(a), True) + self.gan(self.D_a(fake_a.detach()), False)
        loss_D = loss_D + self.gan(self.D_b(b), True) + self.gan(self.D_b(fake_b.detach()), False)

        self.optim_G.zero_grad()
        loss_G.backward()
        self.optim_D.zero_grad()
        loss_D.backward()
        self.optim_D.step()
        self.optim_G.step()
        return {"G": loss_G.item(), "D": loss_D.item()}
