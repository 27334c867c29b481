from contextlib import contextmanager, ExitStack
from collections import Counter
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


@contextmanager
def frozen(*nets):
    """Parameters of nets take no gradient inside the block."""
    flags = [(p, p.requires_grad) for n in nets for p in n.parameters()]
    try:
        for p, _ in flags:
            p.requires_grad_(False)
        yield
    finally:
        for p, f in flags:
            p.requires_grad_(f)


@contextmanager
def evaluating(*nets):
    modes = [n.training for n in nets]
    for n in nets:
        n.eval()
    with torch.no_grad():
        yield
    for n, m in zip(nets, modes):
        n.train(m)


class Timers:
    def __init__(self):
        self.seconds, self.calls = Counter(), Counter()

    @contextmanager
    def __call__(self, name):
        t0 = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - t0
        self.calls[name] += 1


@contextmanager
def stepping(opt, max_norm=None):
    """zero_grad on entry, step on exit"""
    opt.zero_grad()
    yield
    if max_norm is not None:
        nn.utils.clip_grad_norm_([p for g in opt.param_groups for p in g["params"]], max_norm)
    opt.step()


def blobs(n, shift=0.0, angle=0.0):
    y = torch.randint(3, (n,))
    mu = torch.tensor([[0., 2.], [2., -1.], [-2., -1.]])
    x = mu[y] + 0.5 * torch.randn(n, 2)
    a = torch.tensor(angle)
    rot = torch.stack([torch.stack([a.cos(), -a.sin()]), torch.stack([a.sin(), a.cos()])])
    return x @ rot.t() + shift, y


torch.manual_seed(17)
encoder = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 8))
labeler = nn.Linear(8, 3)
critic = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.1), nn.Linear(16, 1))
opt_task = torch.optim.Adam([*encoder.parameters(), *labeler.parameters()], lr=1e-2)
opt_critic = torch.optim.Adam(critic.parameters(), lr=1e-2)
timer = Timers()
trail = []

for step in range(18):
    xs, ys = blobs(32)
    xt, _ = blobs(32, shift=1.0, angle=0.6)

    with timer("critic"), frozen(encoder), stepping(opt_critic):
        zs, zt = encoder(xs), encoder(xt)
        loss_c = F.softplus(-critic(zs)).mean() + F.softplus(critic(zt)).mean()
        loss_c.backward()

    with ExitStack() as stack:
        stack.enter_context(timer("task"))
        stack.enter_context(frozen(critic))
        stack.enter_context(stepping(opt_task, max_norm=2.0))
        zs, zt = encoder(xs), encoder(xt)
        loss_y = F.cross_entropy(labeler(zs), ys)
        confuse = F.softplus(-critic(zt)).mean()
        (loss_y + 0.3 * confuse).backward()

    trail.append((loss_y.item(), confuse.item(), loss_c.item()))
    if step % 6 == 5:
        with evaluating(encoder, labeler):
            x, y = blobs(128, shift=1.0, angle=0.6)
            acc = (labeler(encoder(x)).argmax(1) == y).float().mean().item()
        print("step %2d  label %.4f  confuse %.4f  critic %.4f  target acc %.3f" % (step, *trail[-1], acc))

assert timer.calls["critic"] == timer.calls["task"] == len(trail)
mass = [sum(p.detach().abs().sum().item() for p in n.parameters()) for n in (encoder, labeler, critic)]
print("RESULT", *("%.6g" % v for v in mass + list(trail[-1]) + [acc]))
