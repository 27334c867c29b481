import copy
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import MultivariateNormal


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(dim))
        self.logs = nn.Parameter(torch.zeros(dim))
        self.initialised = False

    def forward(self, x):
        if not self.initialised:
            with torch.no_grad():
                self.loc.copy_(-x.mean(0))
                self.logs.copy_(-x.std(0).log())
            self.initialised = True
        return (x + self.loc) * self.logs.exp(), self.logs.sum().expand(len(x))

    def inverse(self, z):
        return z * (-self.logs).exp() - self.loc


class AffineCoupling(nn.Module):
    def __init__(self, mask, hidden=24):
        super().__init__()
        self.register_buffer("mask", mask)
        self.st = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 4))

    def _st(self, x):
        s, t = self.st(x * self.mask).chunk(2, dim=1)
        free = 1 - self.mask
        return torch.tanh(s) * free, t * free

    def forward(self, x):
        s, t = self._st(x)
        return x * s.exp() + t, s.sum(1)

    def inverse(self, z):
        s, t = self._st(z)
        return (z - t) * (-s).exp()


class RealNVP(nn.Module):
    def __init__(self, n_layers=4):
        super().__init__()
        masks = [torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])]
        self.layers = nn.ModuleList()
        for k in range(n_layers):
            self.layers.append(ActNorm(2))
            self.layers.append(AffineCoupling(masks[k % 2]))
        self.base = MultivariateNormal(torch.zeros(2), torch.eye(2))

    def log_prob(self, x):
        logdet = x.new_zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            logdet = logdet + ld
        return self.base.log_prob(x) + logdet

    @torch.no_grad()
    def sample(self, n):
        z = self.base.sample((n,))
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


def moons(n, rng):
    t = rng.uniform(0, np.pi, n)
    upper = rng.integers(0, 2, n)
    x = np.where(upper, np.cos(t), 1 - np.cos(t))
    y = np.where(upper, np.sin(t), 0.5 - np.sin(t))
    pts = np.stack([x, y], 1) + rng.normal(0, 0.08, (n, 2))
    return torch.tensor(pts, dtype=torch.float32)


if __name__ == "__main__":
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    train, val = moons(128, rng), moons(64, rng)

    flow = RealNVP()
    optimizer = torch.optim.Adam(flow.parameters(), lr=8e-3)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)

    best_nll, best_state, bad_epochs = float("inf"), None, 0
    for epoch in range(9):
        running = 0.0
        for xb in torch.split(train[torch.randperm(len(train))], 32):
            nll = -flow.log_prob(xb).mean()
            optimizer.zero_grad()
            nll.backward()
            nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
            optimizer.step()
            running += nll.item() * len(xb) / len(train)

        with torch.no_grad():
            val_nll = -flow.log_prob(val).mean().item()
        scheduler.step(val_nll)
        print(f"epoch {epoch}  train nll {running:.4f}  val nll {val_nll:.4f}  lr {optimizer.param_groups[0]['lr']:.1e}")

        if val_nll < best_nll:
            best_nll, best_state, bad_epochs = val_nll, copy.deepcopy(flow.state_dict()), 0
        else:
            bad_epochs += 1
            if bad_epochs >= 3:
                print("early stop")
                break

    last = sum(p.detach().abs().sum().item() for p in flow.parameters())
    flow.load_state_dict(best_state)
    samples = flow.sample(200)
    print("sample mean", [round(v, 3) for v in samples.mean(0).tolist()])
    print("RESULT %.6g %.6g %.6g %.6g" % (last, best_nll, running, samples.std().item()))
