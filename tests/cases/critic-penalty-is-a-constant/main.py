import torch
from torch import nn, optim

LAMBDA, BATCH = 10.0, 24


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mid = (eps * real + (1 - eps) * fake).requires_grad_(True)
    (grads,) = torch.autograd.grad(critic(mid).sum(), mid)
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


class WGAN:
    def __init__(self):
        self.G = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
        self.D = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 1))
        self.g_opt = optim.Adam(self.G.parameters(), lr=1e-3, betas=(0.5, 0.9))
        self.d_opt = optim.Adam(self.D.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def critic_step(self, real):
        with torch.no_grad():
            fake = self.G(torch.randn(BATCH, 3))
        gp = gradient_penalty(self.D, real, fake)
        loss = self.D(fake).mean() - self.D(real).mean() + LAMBDA * gp
        self.d_opt.zero_grad()
        loss.backward()
        self.d_opt.step()
        return gp.item()

    def generator_step(self):
        loss = -self.D(self.G(torch.randn(BATCH, 3))).mean()
        self.g_opt.zero_grad()
        loss.backward()
        self.g_opt.step()
        return loss.item()


torch.manual_seed(34)
gan = WGAN()
for it in range(15):
    for _ in range(3):
        gp = gan.critic_step(torch.randn(BATCH, 2) * 0.3 + 1.0)
    g = gan.generator_step()
    if it % 5 == 0:
        print(f"{it} gp {gp:.4f} g {g:.4f}")
print("RESULT %.6g %.6g" % (gp, g))
