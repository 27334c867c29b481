import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from accelerate import Accelerator
from accelerate.utils import set_seed
from itertools import islice

set_seed(2)
acc = Accelerator(cpu=True)

Z, N_CRITIC, GP, ROUNDS = 3, 4, 2.0, 7

# target: a bent line in the plane
t = torch.rand(240, 1) * 2 - 1
real_points = torch.cat([2 * t, t ** 2 * 1.5 - 0.5], 1) + 0.05 * torch.randn(240, 2)

G = nn.Sequential(nn.Linear(Z, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 2))
C = nn.Sequential(nn.Linear(2, 24), nn.SiLU(), nn.Linear(24, 24), nn.SiLU(), nn.Linear(24, 1, bias=False))
optG = torch.optim.Adam(G.parameters(), lr=5e-3, betas=(0.0, 0.9))
optC = torch.optim.Adam(C.parameters(), lr=2e-2, betas=(0.0, 0.9))
dl = DataLoader(TensorDataset(real_points), batch_size=40, shuffle=True)
G, C, optG, optC, dl = acc.prepare(G, C, optG, optC, dl)


def penalty(real, fake):
    eps = torch.rand(len(real), 1, device=acc.device)
    mid = (eps * real + (1 - eps) * fake).requires_grad_()
    slope, = torch.autograd.grad(C(mid).sum(), mid, create_graph=True)
    return ((slope.norm(dim=1) - 1) ** 2).mean()


def batches():
    while True:
        for (b,) in dl:
            yield b


feed = batches()
w_hist, g_hist = [], []
for r in range(ROUNDS):
    for real in islice(feed, N_CRITIC):
        with torch.no_grad():
            fake = G(torch.randn(len(real), Z))
        w = C(real).mean() - C(fake).mean()
        gp = penalty(real, fake)
        optC.zero_grad()
        acc.backward(GP * gp - w)
        optC.step()
        w_hist.append(w.item())

    C.requires_grad_(False)
    lossG = -C(G(torch.randn(40, Z))).mean()
    optG.zero_grad()
    acc.backward(lossG)
    optG.step()
    C.requires_grad_(True)
    g_hist.append(lossG.item())
    acc.print("round %d  wasserstein %+.4f  gp %.4f  generator %+.4f" % (r, w_hist[-1], gp.item(), g_hist[-1]))

with torch.no_grad():
    sample = G(torch.randn(100, Z))
    near = torch.cdist(sample, real_points).min(1).values.mean().item()
acc.print("mean distance to the curve %.4f" % near)
print("RESULT %.6g %.6g %.6g %.6g" % (*(sum(p.abs().sum().item() for p in m.parameters()) for m in (G, C)), w_hist[-1], near))
