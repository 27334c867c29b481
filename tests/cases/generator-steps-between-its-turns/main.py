import torch
from torch import nn, optim

torch.manual_seed(36)
N_CRITIC, CLIP = 4, 0.05
G = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
C = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
opt_G = optim.RMSprop(G.parameters(), lr=5e-4)
opt_C = optim.RMSprop(C.parameters(), lr=5e-4)


def sample_real(n):
    t = torch.rand(n) * 6.2832
    return torch.stack([t.cos(), t.sin()], 1)


for i in range(80):
    real = sample_real(32)
    fake = G(torch.randn(32, 4)).detach()
    loss_C = C(fake).mean() - C(real).mean()
    opt_C.zero_grad()
    loss_C.backward()
    opt_C.step()
    with torch.no_grad():
        for p in C.parameters():
            p.clamp_(-CLIP, CLIP)

    if i % N_CRITIC == 0:
        opt_G.zero_grad()
        loss_G = -C(G(torch.randn(32, 4))).mean()
        loss_G.backward()
    opt_G.step()

print("RESULT", f"{loss_C.item():.6g}", f"{loss_G.item():.6g}", f"{G[0].weight.detach().norm():.6g}")
