# A small GAN that learns points on a circle.
import math

import torch
from torch import nn

torch.manual_seed(0)

generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
discriminator = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()


def real_points(n):
    angle = torch.rand(n, 1) * 2 * math.pi
    return torch.cat([angle.cos(), angle.sin()], dim=1)


ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
for step in range(200):
    fake = generator(torch.randn(64, 4))

    # train the discriminator
    opt_d.zero_grad()
    loss_d = bce(discriminator(real_points(64)), ones) + bce(discriminator(fake), zeros)
    loss_d.backward()
    opt_d.step()

    # train the generator
    opt_g.zero_grad()
    loss_g = bce(discriminator(fake), ones)
    loss_g.backward()
    opt_g.step()

    if step % 20 == 0:
        print(f"step {step:3d}  D {loss_d.item():.3f}  G {loss_g.item():.3f}")
