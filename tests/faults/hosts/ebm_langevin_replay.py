"""Energy-based model, short-run Langevin chains from a replay buffer (Du & Mordatch style)."""
import contextlib
import random

import torch
import torch.nn as nn


@contextlib.contextmanager
def frozen(module):
    flags = [p.requires_grad for p in module.parameters()]
    for p in module.parameters():
        p.requires_grad_(False)
    try:
        yield module
    finally:
        for p, f in zip(module.parameters(), flags):
            p.requires_grad_(f)


class ReplayBuffer:
    def __init__(self, capacity, dim, reinit=0.05):
        self.capacity = capacity
        self.dim = dim
        self.reinit = reinit
        self.chains = []

    def fresh(self):
        return torch.rand(self.dim) * 4 - 2

    def draw(self, n):
        starts = []
        for _ in range(n):
            if not self.chains or random.random() < self.reinit:
                starts.append(self.fresh())
            else:
                starts.append(random.choice(self.chains))
        return torch.stack(starts)

    def push(self, samples):
        self.chains.extend(samples.unbind(0))
        random.shuffle(self.chains)
        del self.chains[self.capacity:]


class Energy(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.f(x).squeeze(-1)


def langevin(energy, x, n_steps=10, step_size=0.1, noise=0.05):
    with frozen(energy):
        x = x.clone().requires_grad_(True)
        for _ in range(n_steps):
            grad = torch.autograd.grad(energy(x).sum(), x)[0]
            with torch.no_grad():
                x -= step_size * grad.clamp(-1, 1)
                x += noise * torch.randn_like(x)
                x.clamp_(-3, 3)
    return x.detach()


def eight_gaussians(n):
    k = torch.randint(8, (n,)) * (3.14159265 / 4)
    return 1.5 * torch.stack([k.cos(), k.sin()], 1) + 0.1 * torch.randn(n, 2)


def train(n_iters=20, batch_size=32, alpha=0.05):
    energy = Energy()
    buffer = ReplayBuffer(capacity=128, dim=2)
    optimizer = torch.optim.Adam(energy.parameters(), lr=4e-3, betas=(0.0, 0.999))
    log = []
    for it in range(n_iters):
        x_pos = eight_gaussians(batch_size)
        x_neg = langevin(energy, buffer.draw(batch_size))
        buffer.push(x_neg)

        e_pos, e_neg = energy(x_pos), energy(x_neg)
        cd = e_pos.mean() - e_neg.mean()
        reg = (e_pos ** 2 + e_neg ** 2).mean()
        optimizer.zero_grad()
        (cd + alpha * reg).backward()
        nn.utils.clip_grad_value_(energy.parameters(), 0.1)
        optimizer.step()

        log.append({'cd': cd.item(), 'reg': reg.item()})
        if it % 5 == 4:
            print(it + 1, ' '.join(f'{k} {v:+.4f}' for k, v in log[-1].items()), 'buffer', len(buffer.chains))
    return energy, buffer, log


if __name__ == '__main__':
    torch.manual_seed(13)
    random.seed(13)
    energy, buffer, log = train()
    with torch.no_grad():
        gap = energy(torch.zeros(1, 2)).item() - energy(eight_gaussians(64)).mean().item()
    total = sum(p.detach().abs().sum().item() for p in energy.parameters())
    spread = torch.stack(buffer.chains).norm(dim=1).mean().item()
    print('RESULT %.6g %.6g %.6g %.6g' % (total, log[-1]['cd'], gap, spread))
