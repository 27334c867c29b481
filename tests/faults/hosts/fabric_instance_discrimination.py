import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore", category=UserWarning)

"""
Instance discrimination (Wu et al. 2018): every sample is its own class, the "classifier weights"
are a bank of old features, and the loss is NCE with a proximal term.
"""

N, D, FEAT = 96, 12, 8
TAU, MOM, NEG, PROX = 0.15, 0.5, 24, 2.0


class Indexed(Dataset):
    def __init__(self, x): self.x = x
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return i, self.x[i]


class Bank:
    def __init__(self, n, d):
        self.v = F.normalize(torch.randn(n, d), dim=1)
        self.Z = None

    def scores(self, f, idx):
        return torch.exp((f.unsqueeze(1) * self.v[idx]).sum(-1) / TAU)

    def nce(self, f, i):
        neg = torch.randint(len(self.v), (len(f), NEG))
        s = self.scores(f, torch.cat([i[:, None], neg], 1))
        if self.Z is None:      # fix the partition constant from the first batch
            self.Z = s.mean().item() * len(self.v)
        p = s / self.Z
        pn = NEG / len(self.v)
        h = torch.cat([p[:, :1] / (p[:, :1] + pn), pn / (p[:, 1:] + pn)], 1)
        return -h.log().sum(1).mean()

    @torch.no_grad()
    def write(self, f, i):
        self.v[i] = F.normalize(MOM * self.v[i] + (1 - MOM) * f, dim=1)


def augment(x):
    return x * (torch.rand_like(x) > 0.1) + 0.15 * torch.randn_like(x)


@torch.no_grad()
def knn(net, x, y, bank):
    net.eval()
    sim = F.normalize(net(x), dim=1) @ bank.v.T
    sim.fill_diagonal_(-1)
    acc = (y[sim.topk(3, dim=1).indices].mode(1).values == y).float().mean().item()
    net.train()
    return acc


def main():
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.seed_everything(404, verbose=False)
    y = torch.arange(N) % 6
    x = 1.5 * torch.randn(6, D)[y] + 0.5 * torch.randn(N, D)

    net = nn.Sequential(nn.Linear(D, 32), nn.ReLU(), nn.Linear(32, FEAT))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    net, opt = fabric.setup(net, opt)
    dl = fabric.setup_dataloaders(DataLoader(Indexed(x), batch_size=24, shuffle=True))
    bank = Bank(N, FEAT)

    log = []
    for epoch in range(7):
        tot = 0.0
        for i, xb in dl:
            f = F.normalize(net(augment(xb)), dim=1)
            prox = (f - bank.v[i]).pow(2).sum(1).mean()
            nce = bank.nce(f, i)
            loss = nce + PROX * prox
            opt.zero_grad()
            fabric.backward(loss)
            fabric.clip_gradients(net, opt, max_norm=5.0)
            opt.step()
            bank.write(f, i)
            tot += loss.item()
        log.append(tot / len(dl))
        fabric.print(f"epoch {epoch} loss {log[-1]:.4f} 3-nn {knn(net, x, y, bank):.3f}")

    w = sum(p.abs().sum().item() for p in net.parameters())
    fabric.print(f"RESULT {w:.6g} {bank.v.abs().sum().item():.6g} {log[-1]:.6g}")


if __name__ == "__main__":
    main()
