"""
Neural ODE on one long spiral trajectory. The trajectory is walked in segments; within a
segment we backprop through a hand-written RK4, and the state goes on to the next segment.
"""
import logging
import sys
from collections import namedtuple

import torch
from torch import nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
LOG = logging.getLogger("node")

Segment = namedtuple("Segment", "t0 targets fresh")


class VectorField(nn.Module):
    def __init__(self, dim=2, width=32):
        super().__init__()
        self.lin_in = nn.Linear(dim + 1, width)
        self.lin_out = nn.Linear(width, dim)
        nn.init.normal_(self.lin_out.weight, std=0.05)
        nn.init.zeros_(self.lin_out.bias)
        self.nfe = 0

    def forward(self, t, y):
        self.nfe += 1
        tt = torch.full_like(y[..., :1], t)
        return self.lin_out(torch.tanh(self.lin_in(torch.cat([y, tt], -1))))


def rk4_step(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + (h / 6) * (k1 + 2 * k2 + 2 * k3 + k4)


def integrate(f, y0, t0, n, h):
    y, t, path = y0, t0, []
    for _ in range(n):
        y = rk4_step(f, t, y, h)
        t += h
        path.append(y)
    return torch.stack(path)


def ground_truth(y0, n, h):
    A = torch.tensor([[-0.1, 1.5], [-1.5, -0.1]])
    with torch.no_grad():
        return integrate(lambda t, y: y @ A.T, y0, 0.0, n, h)


def segments(truth, length, h):
    for i in range(0, len(truth), length):
        yield Segment(t0=i * h, targets=truth[i:i + length], fresh=(i == 0))


def main():
    torch.manual_seed(99)
    h, n_total, seg_len = 0.1, 24, 6
    y_start = torch.tensor([[1.5, 0.0], [0.0, 1.2], [-0.8, -0.8]])
    truth = ground_truth(y_start, n_total, h)

    f = VectorField()
    optimizer = torch.optim.RMSprop(f.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)

    epoch_loss = float("inf")
    for epoch in range(10):
        total, count, state = 0.0, 0, None
        for seg in segments(truth, seg_len, h):
            if seg.fresh:
                state = y_start
            path = integrate(f, state, seg.t0, len(seg.targets), h)
            loss = nn.functional.smooth_l1_loss(path, seg.targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            state = path[-1].detach()
            total += loss.item()
            count += 1
        scheduler.step()
        epoch_loss = total / count
        LOG.info("epoch %d  loss %.5f  nfe %d", epoch, epoch_loss, f.nfe)

    with torch.no_grad():
        full = integrate(f, y_start, 0.0, n_total, h)
        mse = (full - truth).pow(2).mean().item()
    size = sum(p.abs().sum().item() for p in f.parameters())
    print("RESULT %.6g %.6g %.6g" % (size, epoch_loss, mse))


main()
