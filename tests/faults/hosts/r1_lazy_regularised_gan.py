import copy
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn.functional import softplus


@dataclass
class Config:
    steps: int = 20
    batch: int = 32
    z_dim: int = 8
    lr: float = 2e-3
    r1_gamma: float = 2.0
    r1_every: int = 4
    ema_decay: float = 0.9
    seed: int = 1234


class EqualLinear(nn.Module):
    """Linear layer with runtime weight scaling (StyleGAN)."""

    def __init__(self, fan_in, fan_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(fan_out, fan_in))
        self.bias = nn.Parameter(torch.zeros(fan_out))
        self.scale = fan_in ** -0.5

    def forward(self, x):
        return nn.functional.linear(x, self.weight * self.scale, self.bias)


class PixelNorm(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-8)


def build_generator(cfg):
    return nn.Sequential(
        PixelNorm(),
        EqualLinear(cfg.z_dim, 32), nn.LeakyReLU(0.2),
        EqualLinear(32, 32), nn.LeakyReLU(0.2),
        EqualLinear(32, 2),
    )


def build_discriminator():
    return nn.Sequential(
        EqualLinear(2, 32), nn.LeakyReLU(0.2),
        EqualLinear(32, 32), nn.LeakyReLU(0.2),
        EqualLinear(32, 1),
    )


@dataclass
class Meters:
    d: list = field(default_factory=list)
    g: list = field(default_factory=list)
    r1: list = field(default_factory=list)


class Trainer:
    def __init__(self, cfg: Config):
        self.cfg = cfg
        self.G = build_generator(cfg)
        self.D = build_discriminator()
        self.G_ema = copy.deepcopy(self.G).requires_grad_(False)
        # lazy regularisation correction for Adam
        c = cfg.r1_every / (cfg.r1_every + 1)
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=cfg.lr, betas=(0.0, 0.99))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=cfg.lr * c, betas=(0.0, 0.99 ** c))
        self.meters = Meters()
        self.rng = torch.Generator().manual_seed(cfg.seed)

    def reals(self):
        # 3x3 grid of gaussians
        centres = torch.cartesian_prod(torch.arange(-1.0, 2.0), torch.arange(-1.0, 2.0))
        idx = torch.randint(9, (self.cfg.batch,), generator=self.rng)
        return centres[idx] + 0.05 * torch.randn(self.cfg.batch, 2, generator=self.rng)

    def latent(self):
        return torch.randn(self.cfg.batch, self.cfg.z_dim)

    def r1(self, real, real_logits):
        grad, = torch.autograd.grad(real_logits.sum(), real, create_graph=True)
        return grad.square().sum(1).mean()

    def step_d(self, it):
        regularise = it % self.cfg.r1_every == 0
        real = self.reals().requires_grad_(regularise)
        with torch.no_grad():
            fake = self.G(self.latent())
        real_logits = self.D(real)
        fake_logits = self.D(fake)
        loss = softplus(fake_logits).mean() + softplus(-real_logits).mean()
        self.meters.d.append(loss.item())
        if regularise:
            r1 = self.r1(real, real_logits)
            self.meters.r1.append(r1.item())
            loss = loss + 0.5 * self.cfg.r1_gamma * self.cfg.r1_every * r1
        self.opt_d.zero_grad(set_to_none=True)
        loss.backward()
        self.opt_d.step()

    def step_g(self):
        loss = softplus(-self.D(self.G(self.latent()))).mean()
        self.opt_g.zero_grad(set_to_none=True)
        loss.backward()
        self.opt_g.step()
        self.meters.g.append(loss.item())

    @torch.no_grad()
    def update_ema(self):
        for slow, fast in zip(self.G_ema.parameters(), self.G.parameters()):
            slow.lerp_(fast, 1 - self.cfg.ema_decay)

    def fit(self):
        for it in range(self.cfg.steps):
            self.step_d(it)
            self.step_g()
            self.update_ema()
            if it % 5 == 4:
                print(f"it {it + 1:3d}  d {self.meters.d[-1]:.4f}  g {self.meters.g[-1]:.4f}  r1 {self.meters.r1[-1]:.4f}")
        return self


def total_abs(module):
    return sum(p.detach().abs().sum().item() for p in module.parameters())


if __name__ == "__main__":
    cfg = Config()
    torch.manual_seed(cfg.seed)
    t = Trainer(cfg).fit()
    values = [total_abs(t.G), total_abs(t.D), total_abs(t.G_ema), t.meters.d[-1], t.meters.g[-1], t.meters.r1[-1]]
    print("RESULT", " ".join("%.6g" % v for v in values))
