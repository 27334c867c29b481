import copy, math
import torch
from torch import nn, Tensor

SIGMA_MIN, SIGMA_MAX, SIGMA_DATA, RHO = 0.02, 5.0, 0.5, 7.0


def karras_boundaries(n: int) -> Tensor:
    i = torch.arange(n) / (n - 1)
    lo, hi = SIGMA_MIN ** (1 / RHO), SIGMA_MAX ** (1 / RHO)
    return (lo + i * (hi - lo)) ** RHO


def n_schedule(k: int, K: int, s0: int = 4, s1: int = 20) -> int:
    return math.ceil(math.sqrt(k / K * ((s1 + 1) ** 2 - s0 ** 2) + s0 ** 2) - 1) + 1


def mu_schedule(n: int, s0: int = 4, mu0: float = 0.8) -> float:
    return math.exp(s0 * math.log(mu0) / n)


class Backbone(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, width), nn.Mish(), nn.Linear(width, width), nn.Mish(), nn.Linear(width, 2))

    def forward(self, x, sigma):
        c_in = 1 / torch.sqrt(sigma ** 2 + SIGMA_DATA ** 2)
        return self.net(torch.cat([c_in * x, 0.25 * sigma.log()], 1))


def make_consistency_fn(backbone):
    """f(x, sigma) with f(x, SIGMA_MIN) = x"""
    def f(x, sigma):
        c_skip = SIGMA_DATA ** 2 / ((sigma - SIGMA_MIN) ** 2 + SIGMA_DATA ** 2)
        c_out = SIGMA_DATA * (sigma - SIGMA_MIN) / torch.sqrt(SIGMA_DATA ** 2 + sigma ** 2)
        return c_skip * x + c_out * backbone(x, sigma)
    return f


def pseudo_huber(a, b, c=0.03):
    return torch.sqrt((a - b).pow(2).sum(1) + c * c) - c


def two_lines(n):
    s = torch.randint(2, (n, 1)).float() - 0.5
    u = torch.rand(n, 1) * 2 - 1
    return torch.cat([0.6 * u, 0.8 * s + 0.2 * u], 1) + 0.02 * torch.randn(n, 2)


def main(K=30, B=64):
    online = Backbone()
    target = copy.deepcopy(online)
    target.requires_grad_(False)
    f, f_minus = make_consistency_fn(online), make_consistency_fn(target)
    opt = torch.optim.RAdam(online.parameters(), lr=5e-3)

    log = []
    for k in range(K):
        n = n_schedule(k, K)
        mu = mu_schedule(n)
        sig = karras_boundaries(n)
        x = two_lines(B)
        i = torch.randint(n - 1, (B,))
        lo, hi = sig[i][:, None], sig[i + 1][:, None]
        eps = torch.randn_like(x)

        pred = f(x + hi * eps, hi)
        with torch.no_grad():
            ref = f_minus(x + lo * eps, lo)
        loss = (pseudo_huber(pred, ref) / (hi - lo).squeeze(1)).mean()

        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(target.parameters()), list(online.parameters()), 1 - mu)

        log.append(loss.item())
        if k % 6 == 5:
            print(f'{k + 1:3d}: N={n:2d} mu={mu:.3f} loss={sum(log[-6:]) / 6:.4f}')

    @torch.no_grad()
    def one_step(m):
        s = torch.full((m, 1), SIGMA_MAX)
        return f_minus(s * torch.randn(m, 2), s)

    y = one_step(128)
    mag = lambda net: sum(p.detach().abs().sum().item() for p in net.parameters())
    return mag(online), mag(target), log[-1], y.std().item()


torch.manual_seed(303)
print('RESULT %.6g %.6g %.6g %.6g' % main())
