import copy

import torch
from torch import nn
from torch.nn import functional as F


def ring(n):
    k = torch.randint(0, 8, (n,)).float() * 0.785398
    return torch.stack([k.cos(), k.sin()], -1) + 0.02 * torch.randn(n, 2)


def d_loss(disc, real, fake):
    return F.softplus(-disc(real)).mean() + F.softplus(disc(fake)).mean()


def d_step(gen, disc, opt_d):
    with torch.no_grad():
        fake = gen(torch.randn(64, 4))
    opt_d.zero_grad()
    loss = d_loss(disc, ring(64), fake)
    loss.backward()
    opt_d.step()
    return loss.item()


def g_step(gen, disc, opt_g, opt_d, unroll):
    weights, moments = copy.deepcopy(disc.state_dict()), copy.deepcopy(opt_d.state_dict())
    for _ in range(unroll):
        d_step(gen, disc, opt_d)
    opt_g.zero_grad()
    loss = F.softplus(-disc(gen(torch.randn(64, 4)))).mean()
    loss.backward()
    opt_g.step()
    disc.load_state_dict(weights)
    opt_d.load_state_dict(moments)
    return loss.item()


torch.manual_seed(33)
gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
disc = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.99))
for it in range(40):
    d = d_step(gen, disc, opt_d)
    g = g_step(gen, disc, opt_g, opt_d, unroll=3)
print(f"RESULT {d:.5f} {g:.5f}")
