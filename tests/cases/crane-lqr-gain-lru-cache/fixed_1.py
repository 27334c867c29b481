"""Tune the cost weights of an LQR controller through the closed loop (cart with a hanging load)."""
import json
import logging
import pathlib
import tempfile
from dataclasses import asdict, dataclass
from functools import cached_property

import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(message)s")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LQRConfig:
    dt: float = 0.1
    horizon: int = 25
    riccati_iters: int = 40
    steps: int = 20
    lr: float = 0.08
    batch: int = 16
    effort: float = 0.02
    ckpt_every: int = 10
    seed: int = 21


class Plant:
    def __init__(self, dt):
        self.dt = dt

    @cached_property
    def matrices(self):
        A = torch.eye(4) + self.dt * torch.tensor(
            [[0, 1, 0, 0], [0, -0.1, 1.0, 0], [0, 0, 0, 1], [0, 0.1, -3.0, -0.05]], dtype=torch.float32
        )
        B = self.dt * torch.tensor([[0.0], [1.0], [0.0], [-1.0]])
        return A, B

    def step(self, x, u, noise):
        A, B = self.matrices
        return x @ A.t() + u @ B.t() + noise


class Regulator(nn.Module):
    def __init__(self, plant, cfg):
        super().__init__()
        self.plant, self.cfg = plant, cfg
        self.log_q = nn.Parameter(torch.zeros(4))
        self.log_r = nn.Parameter(torch.zeros(1))
        self.trim = nn.Parameter(torch.zeros(1))

    def gain(self):
        A, B = self.plant.matrices
        Q, R = torch.diag(self.log_q.exp()), torch.diag(self.log_r.exp())
        P = Q
        for _ in range(self.cfg.riccati_iters):
            K = torch.linalg.solve(R + B.t() @ P @ B, B.t() @ P @ A)
            P = Q + A.t() @ P @ (A - B @ K)
        return K

    def forward(self, x):
        return self.trim - x @ self.gain().t()


def rollout_cost(reg, x, noise, cfg):
    cost = 0.0
    for t in range(cfg.horizon):
        u = reg(x)
        x = reg.plant.step(x, u, noise[t])
        swing = nn.functional.softplus(8 * (x[:, 2].abs() - 0.3)) / 8
        cost = cost + (x[:, 0] ** 2 + 4 * swing + cfg.effort * u[:, 0] ** 2).mean()
    return cost / cfg.horizon


def save(path, reg, opt, step, cfg):
    torch.save({"reg": reg.state_dict(), "opt": opt.state_dict(), "step": step}, path)
    path.with_suffix(".json").write_text(json.dumps(asdict(cfg)))


def train(cfg, workdir):
    torch.manual_seed(cfg.seed)
    reg = Regulator(Plant(cfg.dt), cfg)
    opt = torch.optim.Adam(reg.parameters(), lr=cfg.lr)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.2, cfg.steps)
    for step in range(cfg.steps):
        x0 = torch.randn(cfg.batch, 4) * torch.tensor([1.0, 0.2, 0.3, 0.2])
        noise = 0.01 * torch.randn(cfg.horizon, cfg.batch, 4)
        cost = rollout_cost(reg, x0, noise, cfg)
        opt.zero_grad()
        cost.backward()
        opt.step()
        sched.step()
        if step % 5 == 0:
            logger.info("step %d cost %.4f", step, cost.item())
        if (step + 1) % cfg.ckpt_every == 0:
            save(workdir / f"reg_{step + 1:04d}.pt", reg, opt, step, cfg)
    return cost.item(), reg.log_q.detach().sum().item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        cost, q = train(LQRConfig(), pathlib.Path(tmp))
    print(f"RESULT {cost:.6g} {q:.6g}")
