import torch
from torch import nn
from torch.nn import functional as F


class Painter(nn.Module):
    def __init__(self, z=6, out=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(z, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, out), nn.Tanh())

    def forward(self, z):
        return self.net(z)


class Judge(nn.Module):
    def __init__(self, out=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(out, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


class Duel:
    def __init__(self):
        self.painter, self.judge = Painter(), Judge()
        self.opt_p = torch.optim.Adam(self.painter.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.opt_j = torch.optim.Adam(self.judge.parameters(), lr=1e-3, betas=(0.5, 0.999))

    def judge_loss(self, real, fake):
        good, bad = self.judge(real), self.judge(fake.detach())
        return F.binary_cross_entropy_with_logits(good, torch.ones_like(good)) + F.binary_cross_entropy_with_logits(bad, torch.zeros_like(bad))

    def painter_loss(self, fake):
        score = self.judge(fake)
        return F.binary_cross_entropy_with_logits(score, torch.ones_like(score))

    def round(self, real):
        fake = self.painter(torch.randn(len(real), 6))
        self.opt_j.zero_grad()
        loss_j = self.judge_loss(real, fake)
        loss_j.backward()
        self.opt_j.step()
        self.opt_p.zero_grad()
        loss_p = self.painter_loss(fake)
        loss_p.backward()
        self.opt_p.step()
        return loss_j.item(), loss_p.item()


torch.manual_seed(86)
duel = Duel()
for _ in range(60):
    j, p = duel.round(torch.rand(32, 10).sign() * 0.5)
print(f"RESULT {j:.5f} {p:.5f}")
