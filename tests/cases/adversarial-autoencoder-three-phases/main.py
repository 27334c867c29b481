import os
import tempfile

import torch
import torch.nn as nn
from torch import optim
from torch.utils.data import DataLoader, Dataset

EPS = 1e-12


class Curves(Dataset):
    """Sampled sine bumps, 20 points each."""

    def __init__(self, n=96):
        g = torch.Generator().manual_seed(9)
        x = torch.linspace(0, 1, 20)
        c, w = torch.rand(n, 1, generator=g), 0.05 + 0.2 * torch.rand(n, 1, generator=g)
        self.y = torch.exp(-((x - c) / w) ** 2)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.y[i]


class Encoder(nn.Module):
    def __init__(self, dim=2):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(20, 32), nn.Linear(32, 32)
        self.lin3gauss = nn.Linear(32, dim)

    def forward(self, x):
        x = torch.relu(self.lin1(x))
        x = torch.relu(self.lin2(x))
        return self.lin3gauss(x)


class Decoder(nn.Sequential):
    def __init__(self, dim=2):
        super().__init__(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 20), nn.Sigmoid())


class Discriminator(nn.Sequential):
    def __init__(self, dim=2):
        super().__init__(nn.Linear(dim, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1), nn.Sigmoid())


class AAE:
    def __init__(self, lr_gen=1e-3, lr_reg=5e-4):
        self.Q, self.P, self.D = Encoder(), Decoder(), Discriminator()
        self.recon_loss = nn.BCELoss()
        self.opt_P = optim.Adam(self.P.parameters(), lr=lr_gen)
        self.opt_Q = optim.Adam(self.Q.parameters(), lr=lr_gen)
        self.opt_Q_gen = optim.Adam(self.Q.parameters(), lr=lr_reg)
        self.opt_D = optim.Adam(self.D.parameters(), lr=lr_reg)

    def zero(self):
        for m in (self.Q, self.P, self.D):
            m.zero_grad()

    def batch(self, x):
        z = self.Q(x)

        # 1. reconstruction
        self.zero()
        recon = self.recon_loss(self.P(z) + EPS, x)
        recon.backward(retain_graph=True)
        self.opt_P.step()
        self.opt_Q.step()

        # 2. discriminator: prior against posterior
        self.zero()
        z_real = torch.randn_like(z) * 2.0
        d_loss = -torch.mean(torch.log(self.D(z_real) + EPS) + torch.log(1 - self.D(z.detach()) + EPS))
        d_loss.backward()
        self.opt_D.step()

        # 3. encoder as the generator of codes
        self.zero()
        g_loss = -torch.mean(torch.log(self.D(z) + EPS))
        g_loss.backward()
        self.opt_Q_gen.step()
        return recon.item(), d_loss.item(), g_loss.item()


def main():
    torch.manual_seed(6)
    loader = DataLoader(Curves(), batch_size=32, shuffle=True)
    aae = AAE()
    for epoch in range(5):
        for x in loader:
            losses = aae.batch(x)
        print("epoch", epoch, *("%.4f" % l for l in losses))
    with tempfile.TemporaryDirectory() as d:
        torch.save(aae.Q.state_dict(), os.path.join(d, "Q.pt"))
    print("RESULT", *("%.6g" % l for l in losses))


main()
