import torch
from torch import nn
from torch.nn import functional as F

from framework import Progress, Runner


class Colorizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = nn.Sequential(nn.Conv1d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv1d(8, 2, 3, padding=1))
        self.d = nn.Sequential(nn.Conv1d(3, 8, 3, padding=1), nn.LeakyReLU(0.2), nn.Conv1d(8, 1, 1))
        self.every = 3

    def optimizers(self):
        return torch.optim.Adam(self.g.parameters(), lr=2e-3), torch.optim.Adam(self.d.parameters(), lr=1e-3)

    def step(self, runner, batch, index):
        opt_g, opt_d = runner.optimizers
        gray, color = batch
        with runner.toggled(opt_g):
            fake = self.g(gray)
            loss_g = F.l1_loss(fake, color) + 0.01 * F.softplus(-self.d(torch.cat([gray, fake], 1))).mean()
            (loss_g / self.every).backward()
            if (index + 1) % self.every == 0:
                opt_g.step()
                opt_g.zero_grad()
        with runner.toggled(opt_d):
            good = F.softplus(-self.d(torch.cat([gray, color], 1))).mean()
            bad = F.softplus(self.d(torch.cat([gray, fake.detach()], 1))).mean()
            ((good + bad) / self.every).backward()
            if (index + 1) % self.every == 0:
                opt_d.step()
                opt_d.zero_grad()
        runner.progress.show(loss_g=loss_g, loss_d=good + bad)


def batches(n):
    g = torch.Generator().manual_seed(3)
    for _ in range(n):
        gray = torch.rand(6, 1, 10, generator=g)
        yield gray, torch.cat([gray.sqrt(), gray.pow(2)], 1)


torch.manual_seed(80)
runner = Runner(Colorizer(), Progress())
runner.run(batches(45))
print("RESULT", *(f"{float(v.detach()):.5f}" for v in runner.progress.last.values()))
