from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn


@dataclass
class Config:
    latent: int = 4
    stations: int = 3
    hours: int = 160
    chunk: int = 20
    passes: int = 2
    lr: float = 0.01
    seed: int = 11
    horizons: list = field(default_factory=lambda: [1, 4])


@dataclass
class Belief:
    mean: Tensor
    cov: Tensor


def tides(cfg):
    rng = np.random.default_rng(cfg.seed)
    t = np.arange(cfg.hours)
    waves = [np.sin(2 * np.pi * t / 12.4), 0.4 * np.sin(2 * np.pi * t / 24.0 + 1.0)]
    mix = rng.normal(size=(cfg.stations, len(waves)))
    level = (mix @ np.stack(waves)).T + 0.05 * rng.normal(size=(cfg.hours, cfg.stations))
    return torch.tensor(level, dtype=torch.float32)


class Filter(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.A = nn.Parameter(0.9 * torch.eye(cfg.latent) + 0.05 * torch.randn(cfg.latent, cfg.latent))
        self.C = nn.Parameter(0.5 * torch.randn(cfg.stations, cfg.latent))
        self.log_q = nn.Parameter(torch.full((cfg.latent,), -2.0))
        self.log_r = nn.Parameter(torch.full((cfg.stations,), -1.0))

    def prior(self):
        n = self.A.shape[0]
        return Belief(torch.zeros(n), torch.eye(n))

    def predict(self, b):
        mean = self.A @ b.mean
        cov = self.A @ b.cov @ self.A.T + torch.diag(self.log_q.exp())
        return Belief(mean, cov)

    def update(self, b, y):
        innovation = y - self.C @ b.mean
        S = self.C @ b.cov @ self.C.T + torch.diag(self.log_r.exp())
        gain = torch.linalg.solve(S, self.C @ b.cov).T
        mean = b.mean + gain @ innovation
        cov = b.cov - gain @ self.C @ b.cov
        nll = 0.5 * (innovation @ torch.linalg.solve(S, innovation) + torch.logdet(S))
        return Belief(mean, 0.5 * (cov + cov.T)), nll


class Session:
    def __init__(self, cfg, levels):
        self.cfg, self.levels = cfg, levels
        self.filter = Filter(cfg)
        self.opt = torch.optim.Adam(self.filter.parameters(), lr=cfg.lr)
        self.belief = None

    def assimilate(self, chunk):
        b = Belief(self.belief.mean.detach(), self.belief.cov.detach())
        nll = 0.0
        for y in chunk:
            b, step = self.filter.update(self.filter.predict(b), y)
            nll = nll + step
        self.belief = b
        return nll / len(chunk)

    def sweep(self):
        self.belief = self.filter.prior()
        scores = []
        for chunk in self.levels.split(self.cfg.chunk):
            self.opt.zero_grad()
            nll = self.assimilate(chunk)
            nll.backward()
            nn.utils.clip_grad_norm_(self.filter.parameters(), 5.0)
            self.opt.step()
            scores.append(nll.item())
        return float(np.mean(scores))

    @torch.no_grad()
    def forecast(self):
        out, b = {}, self.belief
        for h in range(1, max(self.cfg.horizons) + 1):
            b = self.filter.predict(b)
            if h in self.cfg.horizons:
                out[h] = (self.filter.C @ b.mean).norm().item()
        return out


if __name__ == "__main__":
    cfg = Config()
    torch.manual_seed(cfg.seed)
    session = Session(cfg, tides(cfg))
    curve = [session.sweep() for _ in range(cfg.passes)]
    print("nll", [round(c, 3) for c in curve])
    print("RESULT", f"{curve[-1]:.6g}", *(f"{v:.6g}" for v in session.forecast().values()))
