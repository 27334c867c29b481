import torch
import torch.nn as nn
import torch.nn.functional as F
from registry import LOSSES, OPTIMS, TOWERS


@TOWERS.register()
class ConvTower(nn.Module):
    def __init__(self, channels=6, dim=8):
        super().__init__()
        self.c = nn.Conv1d(1, channels, 5, stride=2)
        self.p = nn.Linear(channels, dim)

    def forward(self, x):
        return F.normalize(self.p(F.relu(self.c(x.unsqueeze(1))).amax(-1)), dim=1)


@TOWERS.register()
class MlpTower(nn.Module):
    def __init__(self, width=24, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, width), nn.GELU(), nn.Linear(width, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


@LOSSES.register("xbm_contrastive")
class CrossBatchContrastive:
    """Contrastive loss against a ring buffer of embeddings of earlier batches."""

    def __init__(self, size=64, dim=8, margin=0.4):
        self.margin = margin
        self.bank = torch.zeros(size, dim)
        self.ids = torch.full((size,), -1)
        self.ptr, self.filled = 0, 0

    def push(self, z, y):
        slots = torch.arange(self.ptr, self.ptr + len(z)) % len(self.bank)
        self.bank[slots] = z.detach()
        self.ids[slots] = y
        self.ptr = int(slots[-1] + 1) % len(self.bank)
        self.filled = min(self.filled + len(z), len(self.bank))

    def pairwise(self, z, y, keys, ids):
        sim = z @ keys.t()
        same = (y[:, None] == ids[None]).float()
        return (same * (1 - sim) + (1 - same) * F.relu(sim - self.margin)).mean()

    def __call__(self, z, y):
        loss = self.pairwise(z, y, z, y)
        if self.filled:
            loss = loss + self.pairwise(z, y, self.bank[:self.filled].clone(), self.ids[:self.filled])
        self.push(z, y)
        return loss


@LOSSES.register("semi_hard_triplet")
class SemiHardTriplet:
    def __init__(self, margin=0.3):
        self.margin = margin

    def __call__(self, z, y):
        d = 2 - 2 * z @ z.t()
        with torch.no_grad():
            same = y[:, None] == y[None]
            pos = d.masked_fill(~same, -1).argmax(1)
            neg = d.masked_fill(same, 9).argmin(1)
        i = torch.arange(len(y))
        return F.softplus(d[i, pos] - d[i, neg] + self.margin).mean()


@OPTIMS.register("sgd")
def _sgd(params, lr):
    return torch.optim.SGD(params, lr=lr, momentum=0.9, nesterov=True)


@OPTIMS.register("adam")
def _adam(params, lr):
    return torch.optim.Adam(params, lr=lr)
